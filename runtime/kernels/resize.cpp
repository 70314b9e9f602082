#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/remap.h"
#include "runtime/kernels/program_builder.h"

// Resize and Upsample: along one dimension after the other, each output position a weighted sum of
// one (nearest), two (linear) or four (cubic) input positions.
namespace opsmith::kernels {
namespace {

struct Tap {
  int64_t position;
  double weight;
};

struct ResizeMode {
  std::string mode, coordinates, nearest;
  double cubic = -0.75;
  bool exclude_outside = false;
};

double original_coordinate(const ResizeMode& mode, int64_t x, double scale, int64_t from,
                           int64_t to) {
  auto position = static_cast<double>(x);
  if (mode.coordinates == "asymmetric") return position / scale;
  if (mode.coordinates == "align_corners") {
    return to == 1 ? 0 : position * static_cast<double>(from - 1) / static_cast<double>(to - 1);
  }
  if (mode.coordinates == "pytorch_half_pixel" && to == 1) return 0;
  if (mode.coordinates == "tf_half_pixel_for_nn") return (position + 0.5) / scale;
  return (position + 0.5) / scale - 0.5;
}

int64_t nearest_position(const ResizeMode& mode, double x) {
  if (mode.nearest == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode.nearest == "ceil") return static_cast<int64_t>(std::ceil(x));
  double below = std::floor(x);
  if (x - below == 0.5) {
    return static_cast<int64_t>(mode.nearest == "round_prefer_ceil" ? below + 1 : below);
  }
  return static_cast<int64_t>(std::round(x));
}

std::vector<Tap> taps_at(const ResizeMode& mode, double x, int64_t extent) {
  auto inside = [&](int64_t p) { return std::clamp<int64_t>(p, 0, extent - 1); };
  if (mode.mode == "nearest") return {{inside(nearest_position(mode, x)), 1}};
  double below = std::floor(x), t = x - below;
  auto first = static_cast<int64_t>(below);
  if (mode.mode == "linear") return {{inside(first), 1 - t}, {inside(first + 1), t}};
  double a = mode.cubic;
  auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  std::vector<Tap> taps = {
      {first - 1, far(1 + t)}, {first, near(t)}, {first + 1, near(1 - t)}, {first + 2, far(2 - t)}};
  double sum = 0;
  for (Tap& tap : taps) {
    if (mode.exclude_outside && inside(tap.position) != tap.position) tap.weight = 0;
    tap.position = inside(tap.position);
    sum += tap.weight;
  }
  if (mode.exclude_outside) {
    for (Tap& tap : taps) tap.weight /= sum;
  }
  return taps;
}

// `in` of shape [outer, from, inner] to [outer, taps.size(), inner].
std::vector<float> resample(const std::vector<float>& in, int64_t outer, int64_t from,
                            int64_t inner, const std::vector<std::vector<Tap>>& taps) {
  auto to = static_cast<int64_t>(taps.size());
  std::vector<float> out(static_cast<size_t>(outer * to * inner), 0.0F);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t p = 0; p < to; ++p) {
      float* row = out.data() + (o * to + p) * inner;
      for (const Tap& tap : taps[static_cast<size_t>(p)]) {
        const float* source = in.data() + (o * from + tap.position) * inner;
        auto weight = static_cast<float>(tap.weight);
        for (int64_t i = 0; i < inner; ++i) row[i] += weight * source[i];
      }
    }
  }
  return out;
}

/// What a node asks for: the output's shape, and how positions map back.
struct ResizePlan {
  ResizeMode mode;
  Shape shape;
  std::vector<double> scales;

  /// Of each position along dimension i of an input of shape `from`.
  std::vector<std::vector<Tap>> taps(size_t i, const Shape& from) const {
    std::vector<std::vector<Tap>> result;
    for (int64_t p = 0; p < shape[i]; ++p) {
      result.push_back(
          taps_at(mode, original_coordinate(mode, p, scales[i], from[i], shape[i]), from[i]));
    }
    return result;
  }
};

std::vector<Tensor> interpolate(const PlainCall& call, const ResizePlan& plan) {
  const Tensor& x = call.input(0);
  const auto& [mode, shape, scales] = plan;
  size_t rank = x.shape().size();
  std::vector<std::vector<std::vector<Tap>>> taps;
  for (size_t i = 0; i < rank; ++i) taps.push_back(plan.taps(i, x.shape()));
  Tensor y = call.output(0, x.type(), shape);
  if (mode.mode == "nearest") {
    std::vector<std::vector<int64_t>> sources(rank);
    for (size_t i = 0; i < rank; ++i) {
      for (const auto& tap : taps[i]) sources[i].push_back(tap[0].position);
    }
    remap(x, sources, nullptr, y, call.node);
    return {y};
  }
  Tensor single = x.cast(ElementType::Float32);
  std::vector<float> values(single.data<float>().begin(), single.data<float>().end());
  Shape current = x.shape();
  for (size_t i = 0; i < rank; ++i) {
    if (shape[i] == current[i] && scales[i] == 1) continue;
    values = resample(values, extent_product(current, 0, i), current[i],
                      extent_product(current, i + 1, rank), taps[i]);
    current[i] = shape[i];
  }
  dispatch_numeric(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    T* out = elements_as<T>(y);
    for (size_t i = 0; i < values.size(); ++i) {
      double value = values[i];
      if constexpr (std::is_integral_v<T>) {  // cubic weights overshoot
        value = std::clamp(value, static_cast<double>(std::numeric_limits<T>::lowest()),
                           static_cast<double>(std::numeric_limits<T>::max()));
      }
      out[i] = static_cast<T>(value);
    }
  });
  return {y};
}

std::vector<double> real_numbers(const Tensor& tensor) {
  Tensor wide = tensor.cast(ElementType::Float64);
  return {wide.data<double>().begin(), wide.data<double>().end()};
}

// Upsample and Resize of opset 10 (x, scales): positions divided by the scale, rounded down.
ResizePlan plan_by_scales(const graph::Node& node, const Shape& x, const Tensor* given) {
  std::vector<double> scales;
  if (given != nullptr) {
    scales = real_numbers(*given);
  } else if (auto found = node.attributes.find("scales"); found != node.attributes.end()) {
    for (float scale : std::get<std::vector<float>>(found->second)) scales.push_back(scale);
  }
  if (scales.size() != x.size()) {
    throw UserError(describe(node) + ": one scale for each dimension is needed");
  }
  Shape shape;
  for (size_t i = 0; i < scales.size(); ++i) {
    shape.push_back(static_cast<int64_t>(std::floor(static_cast<double>(x[i]) * scales[i] + 1e-6)));
  }
  std::string mode = node.text("mode", "nearest");
  return {{mode == "bilinear" ? "linear" : mode, "asymmetric", "floor"}, shape, scales};
}

// Resize since opset 11: either scales or sizes, of all dimensions or of `axes`.
ResizePlan plan_resize(const graph::Node& node, const Shape& x, const Tensor* given_scales,
                       const Tensor* given_sizes) {
  ResizeMode mode{node.text("mode", "nearest"),
                  node.text("coordinate_transformation_mode", "half_pixel"),
                  node.text("nearest_mode", "round_prefer_floor"),
                  node.real("cubic_coeff_a", -0.75F), node.integer("exclude_outside", 0) != 0};
  if (mode.coordinates == "tf_crop_and_resize" || mode.coordinates == "half_pixel_symmetric" ||
      node.integer("antialias", 0) != 0 ||
      node.text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    throw Unsupported(describe(node) +
                      ": cropping, symmetric, antialiased or aspect-keeping resizing");
  }
  auto rank = static_cast<int64_t>(x.size());
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  axes = node.integers("axes", axes);
  ResizePlan plan{mode, x, std::vector<double>(x.size(), 1)};
  bool by_scale = given_scales != nullptr && given_scales->count() > 0;
  if (!by_scale && given_sizes == nullptr) {
    throw UserError(describe(node) + ": neither scales nor sizes");
  }
  std::vector<double> given = real_numbers(by_scale ? *given_scales : *given_sizes);
  if (given.size() != axes.size()) {
    throw UserError(describe(node) + ": " + std::to_string(given.size()) + " scales or sizes for " +
                    std::to_string(axes.size()) + " dimensions");
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = static_cast<size_t>(normalize_axis(axes[i], rank, node));
    auto extent = static_cast<double>(x[axis]);
    plan.scales[axis] = by_scale ? given[i] : given[i] / extent;
    plan.shape[axis] =
        static_cast<int64_t>(by_scale ? std::floor(extent * given[i] + 1e-6) : given[i]);
  }
  return plan;
}

std::vector<Tensor> resize(const PlainCall& call) {
  const Shape& x = call.input(0).shape();
  auto optional = [&](size_t i) { return call.has(i) ? &call.input(i) : nullptr; };
  bool old = call.node.type == "Upsample" || call.opset() < 11;
  return interpolate(call, old ? plan_by_scales(call.node, x, optional(1))
                               : plan_resize(call.node, x, optional(2), optional(3)));
}

// Nearest by whole factors copies each element: y[.., i, ..] = x[.., i / factor, ..].
std::optional<Lowered> lower_resize(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (builder.type(0) != ElementType::Float32 || node.text("mode", "nearest") != "nearest") {
    return std::nullopt;
  }
  for (size_t i = 1; i < builder.input_count(); ++i) {
    if (builder.has(i) && builder.constant(i) == nullptr) return std::nullopt;
  }
  const Shape& x = builder.shape(0);
  bool old = node.type == "Upsample" || builder.opset() < 11;
  ResizePlan plan = old ? plan_by_scales(node, x, builder.constant(1))
                        : plan_resize(node, x, builder.constant(2), builder.constant(3));
  std::vector<expression::Index> indices;
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t factor = x[i] == 0 ? 0 : plan.shape[i] / x[i];
    if (factor < 1 || plan.shape[i] % x[i] != 0) return std::nullopt;
    std::vector<std::vector<Tap>> taps = plan.taps(i, x);
    for (int64_t p = 0; p < plan.shape[i]; ++p) {
      if (taps[static_cast<size_t>(p)][0].position != p / factor) return std::nullopt;
    }
    indices.push_back(factor == 1 ? axis(i) : floor_div(axis(i), factor));
  }
  return builder.finish(
      {builder.add_stage(map_stage("y", plan.shape, builder.read(0, std::move(indices))))});
}

}  // namespace

std::vector<KernelDefinition> resize_kernels() {
  return {{"Resize", lower_resize, resize}, {"Upsample", lower_resize, resize}};
}

}  // namespace opsmith::kernels
