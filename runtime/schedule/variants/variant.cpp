#include "runtime/schedule/variants/variant.h"

#include "runtime/schedule/variants/winograd.h"
#include "support/error.h"

namespace opsmith::schedule {
namespace {

const std::string kWinograd = "winograd";

/// m of "winograd2" and "winograd4", 0 of others.
int64_t winograd_outputs(const std::string& name) {
  if (name == kWinograd + "2") return 2;
  if (name == kWinograd + "4") return 4;
  return 0;
}

std::optional<ConvolutionPattern> match_winograd(const expression::Program& defining) {
  auto convolution = match_convolution(defining);
  if (convolution && !winograd_fits(*convolution)) convolution.reset();
  return convolution;
}

}  // namespace

std::vector<std::string> variant_names(const expression::Program& defining) {
  std::vector<std::string> names = {"direct"};
  if (match_winograd(defining)) {
    names.push_back(kWinograd + "2");
    names.push_back(kWinograd + "4");
  }
  return names;
}

std::optional<Variant> make_variant(const expression::Program& defining, const std::string& name) {
  if (name == "direct") return Variant{name, defining, {}};
  const int64_t m = winograd_outputs(name);
  const auto convolution = match_winograd(defining);
  if (m == 0 || !convolution) return std::nullopt;
  return winograd_variant(defining, *convolution, m);
}

std::vector<Layout::Halo> variant_reach(const expression::Program& defining,
                                        const std::string& input) {
  const auto convolution = match_winograd(defining);
  if (!convolution || convolution->input != input) return {};
  std::vector<Layout::Halo> halo(4);
  const auto along = [](int64_t extent, int64_t inputs, int64_t padding) {
    Layout::Halo result{std::max<int64_t>(padding, 0), 0};
    for (const int64_t m : {2, 4}) {
      const int64_t last = (extent + m - 1) / m * m + 2 - padding;
      result.after = std::max(result.after, last - inputs);
    }
    return result;
  };
  halo[2] = along(convolution->height, convolution->input_height, convolution->top);
  halo[3] = along(convolution->width, convolution->input_width, convolution->left);
  return halo;
}

VariantSchedule default_variant_schedule(const Variant& variant,
                                         const std::map<std::string, Layout>& data_layouts,
                                         const Target& target) {
  const int64_t m = winograd_outputs(variant.name);
  if (m != 0) {
    return winograd_schedule(variant, default_winograd_tiling(winograd_shape(variant), target),
                             target);
  }
  VariantSchedule chosen;
  chosen.weights = preferred_weight_layouts(variant.program, data_layouts, target);
  std::map<std::string, Layout> layouts = data_layouts;
  for (const auto& [weight, layout] : chosen.weights) layouts.try_emplace(weight, layout);
  chosen.schedule = default_schedule(variant.program, layouts, target);
  return chosen;
}

}  // namespace opsmith::schedule
