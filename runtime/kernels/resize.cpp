#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/reals.h"
#include "runtime/kernels/plain/remap.h"
#include "runtime/kernels/plain/sampling.h"
#include "runtime/kernels/program_builder.h"

// Resize and Upsample: along one dimension after the other, each output position a weighted sum of
// one (nearest), two (linear), four (cubic) or, with antialiasing, more input positions.
namespace opsmith::kernels {
namespace {

struct ResizeMode {
  std::string mode, coordinates, nearest;
  double cubic = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  double extrapolation = 0;  ///< of positions outside the input when cropping
};

/// One dimension: extents, scale, and the part that is cropped, in shares of the input.
struct ResizedAxis {
  int64_t from = 0, to = 0;
  double scale = 1;
  double begin = 0, end = 1;
};

/// Where the output's position `x` lies in the input; nullopt: outside of it when cropping. A
/// target extent computed from a scale counts with its fraction.
std::optional<double> original_coordinate(const ResizeMode& mode, int64_t x,
                                          const ResizedAxis& axis) {
  const auto position = static_cast<double>(x), from = static_cast<double>(axis.from);
  const double width = axis.scale * from;
  if (mode.coordinates == "asymmetric") return position / axis.scale;
  if (mode.coordinates == "align_corners") {
    return width == 1 ? 0 : position * (from - 1) / (width - 1);
  }
  if (mode.coordinates == "tf_crop_and_resize") {
    const auto to = static_cast<double>(axis.to);
    const double span = (axis.end - axis.begin) * (from - 1);
    const double at =
        axis.begin * (from - 1) + (axis.to == 1 ? span / 2 : position * span / (to - 1));
    if (at < 0 || at > from - 1) return std::nullopt;
    return at;
  }
  if (mode.coordinates == "pytorch_half_pixel" && axis.to == 1) return 0;
  if (mode.coordinates == "tf_half_pixel_for_nn") return (position + 0.5) / axis.scale;
  double offset = 0;
  if (mode.coordinates == "half_pixel_symmetric") {
    offset = from / 2 * (1 - static_cast<double>(axis.to) / width);
  }
  return offset + (position + 0.5) / axis.scale - 0.5;
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

/// Weight of an input element at distance d from the position that is read.
double kernel_weight(const ResizeMode& mode, double d) {
  d = std::fabs(d);
  if (mode.mode == "linear") return std::max(0.0, 1 - d);
  const double a = mode.cubic;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

std::vector<Tap> taps_at(const ResizeMode& mode, const ResizedAxis& axis, int64_t position) {
  const std::optional<double> original = original_coordinate(mode, position, axis);
  if (!original) return {{-1, 1}};
  const double x = *original;
  const auto inside = [&](int64_t p) { return std::clamp<int64_t>(p, 0, axis.from - 1); };
  if (mode.mode == "nearest") return {{inside(nearest_position(mode, x)), 1}};
  // Shrinking with antialiasing stretches the kernel over all elements that it leaves out.
  const double stretch = mode.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = (mode.mode == "linear" ? 1 : 2) / stretch;
  const double below = std::floor(x);
  const auto first = static_cast<int64_t>(below) + static_cast<int64_t>(std::floor(-reach)) + 1;
  const auto last = static_cast<int64_t>(below) + static_cast<int64_t>(std::ceil(reach));
  std::vector<Tap> taps;
  double sum = 0;
  for (int64_t p = first; p <= last; ++p) {
    double weight = kernel_weight(mode, (static_cast<double>(p) - x) * stretch);
    if (mode.exclude_outside && inside(p) != p) weight = 0;
    taps.push_back({inside(p), weight});
    sum += weight;
  }
  if (mode.exclude_outside || stretch < 1) {
    for (Tap& tap : taps) tap.weight /= sum;
  }
  return taps;
}

// `in` of shape [outer, from, inner] to [outer, taps.size(), inner].
template <typename T>
std::vector<T> resample(const std::vector<T>& in, int64_t outer, int64_t from, int64_t inner,
                        const std::vector<std::vector<Tap>>& taps, T extrapolation) {
  auto to = static_cast<int64_t>(taps.size());
  std::vector<T> out(static_cast<size_t>(outer * to * inner), T{0});
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t p = 0; p < to; ++p) {
      T* row = out.data() + (o * to + p) * inner;
      for (const Tap& tap : taps[static_cast<size_t>(p)]) {
        if (tap.position < 0) {
          std::fill_n(row, inner, extrapolation);
          continue;
        }
        const T* source = in.data() + (o * from + tap.position) * inner;
        auto weight = static_cast<T>(tap.weight);
        for (int64_t i = 0; i < inner; ++i) row[i] += weight * source[i];
      }
    }
  }
  return out;
}

/// What a node asks for: the output's shape, and how positions map back.
struct ResizePlan {
  ResizeMode mode;
  std::vector<ResizedAxis> axes;

  Shape shape() const {
    Shape result;
    for (const ResizedAxis& axis : axes) result.push_back(axis.to);
    return result;
  }
  /// Of each output position along dimension i.
  std::vector<std::vector<Tap>> taps(size_t i) const {
    std::vector<std::vector<Tap>> result;
    for (int64_t p = 0; p < axes[i].to; ++p) result.push_back(taps_at(mode, axes[i], p));
    return result;
  }
  bool unchanged(size_t i) const {
    return axes[i].from == axes[i].to && axes[i].scale == 1 &&
           mode.coordinates != "tf_crop_and_resize";
  }
};

template <typename T>
std::vector<double> resample_all(const Tensor& x, const ResizePlan& plan) {
  const Tensor wide = x.cast(element_type_of<T>());
  std::vector<T> values(wide.data<T>().begin(), wide.data<T>().end());
  Shape current = x.shape();
  for (size_t i = 0; i < current.size(); ++i) {
    if (plan.unchanged(i)) continue;
    values = resample<T>(values, extent_product(current, 0, i), current[i],
                         extent_product(current, i + 1, current.size()), plan.taps(i),
                         static_cast<T>(plan.mode.extrapolation));
    current[i] = plan.axes[i].to;
  }
  return {values.begin(), values.end()};
}

std::vector<Tensor> interpolate(const PlainCall& call, const ResizePlan& plan) {
  const Tensor& x = call.input(0);
  const size_t rank = x.shape().size();
  const Shape shape = plan.shape();
  Tensor y = call.output(0, x.type(), shape);
  if (y.count() > 0 && x.count() == 0) throw UserError(describe(call.node) + ": nothing to resize");
  if (plan.mode.mode == "nearest") {
    std::vector<std::vector<int64_t>> sources(rank);
    for (size_t i = 0; i < rank; ++i) {
      for (const auto& tap : plan.taps(i)) sources[i].push_back(tap[0].position);
    }
    const Tensor fill = Tensor::scalar(plan.mode.extrapolation).cast(x.type());
    remap(x, sources, fill.raw(), y, call.node);
    return {y};
  }
  const std::vector<double> values = x.type() == ElementType::Float64
                                         ? resample_all<double>(x, plan)
                                         : resample_all<float>(x, plan);
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

/// floor(extent * scale), in single precision as runtimes compute it.
int64_t scaled_extent(const graph::Node& node, int64_t extent, double scale) {
  if (!(scale > 0 && scale <= 1e6)) {
    throw UserError(describe(node) + ": one of its scales is " + std::to_string(scale));
  }
  return static_cast<int64_t>(std::floor(static_cast<float>(extent) * static_cast<float>(scale)));
}

// Upsample and Resize of opset 10 (x, scales): positions divided by the scale, rounded down.
ResizePlan plan_by_scales(const graph::Node& node, const Shape& x, const Tensor* given) {
  std::vector<double> scales = real_attribute(node, "scales");
  if (given != nullptr) scales = to_reals(*given);
  if (node.has("height_scale")) {
    scales = {1, 1, node.real("height_scale", 1), node.real("width_scale", 1)};
  }
  if (scales.size() != x.size()) {
    throw UserError(describe(node) + ": one scale for each dimension is needed");
  }
  std::string mode = node.text("mode", "nearest");
  ResizePlan plan{{mode == "bilinear" ? "linear" : mode, "asymmetric", "floor"}, {}};
  for (size_t i = 0; i < scales.size(); ++i) {
    plan.axes.push_back({x[i], scaled_extent(node, x[i], scales[i]), scales[i]});
  }
  return plan;
}

/// One scale for all axes where the aspect ratio is to be kept: the smallest or largest asked for.
void keep_aspect_ratio(ResizePlan& plan, const std::vector<size_t>& axes, bool smallest) {
  double scale = plan.axes[axes.at(0)].scale;
  for (size_t i : axes) {
    scale = smallest ? std::min(scale, plan.axes[i].scale) : std::max(scale, plan.axes[i].scale);
  }
  for (size_t i : axes) {
    ResizedAxis& axis = plan.axes[i];
    axis.scale = scale;
    axis.to = static_cast<int64_t>(std::floor(scale * static_cast<double>(axis.from) + 0.5));
  }
}

// Resize since opset 11: either scales or sizes, of all dimensions or of `axes`.
ResizePlan plan_resize(const graph::Node& node, const Shape& x, const Tensor* regions,
                       const Tensor* given_scales, const Tensor* given_sizes) {
  ResizePlan plan{
      {node.text("mode", "nearest"), node.text("coordinate_transformation_mode", "half_pixel"),
       node.text("nearest_mode", "round_prefer_floor"), node.real("cubic_coeff_a", -0.75F),
       node.integer("exclude_outside", 0) != 0, node.integer("antialias", 0) != 0,
       node.real("extrapolation_value", 0)},
      {}};
  const bool crops = plan.mode.coordinates == "tf_crop_and_resize";
  for (int64_t extent : x) plan.axes.push_back({extent, extent});
  auto rank = static_cast<int64_t>(x.size());
  std::vector<int64_t> given_axes;
  for (int64_t i = 0; i < rank; ++i) given_axes.push_back(i);
  std::vector<size_t> axes;
  for (int64_t axis : node.integers("axes", given_axes)) {
    axes.push_back(static_cast<size_t>(normalize_axis(axis, rank, node)));
  }
  const bool by_scale = given_scales != nullptr && given_scales->count() > 0;
  if (!by_scale && given_sizes == nullptr) {
    throw UserError(describe(node) + ": neither scales nor sizes");
  }
  const std::vector<double> given = to_reals(by_scale ? *given_scales : *given_sizes);
  const std::vector<double> region =
      crops && regions != nullptr ? to_reals(*regions) : std::vector<double>{};
  if (given.size() != axes.size() || (crops && region.size() != 2 * axes.size())) {
    throw UserError(describe(node) + ": " + std::to_string(given.size()) + " scales or sizes and " +
                    std::to_string(region.size()) + " bounds of the region for " +
                    std::to_string(axes.size()) + " dimensions");
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizedAxis& axis = plan.axes[axes[i]];
    if (crops) {
      axis.begin = region[i];
      axis.end = region[axes.size() + i];
    }
    if (by_scale) {
      axis.scale = given[i];
      axis.to = scaled_extent(node, axis.from, given[i] * (axis.end - axis.begin));
    } else {
      if (!(given[i] >= 0 && given[i] < 1e12)) throw UserError(describe(node) + ": absurd sizes");
      axis.to = static_cast<int64_t>(given[i]);
      axis.scale = given[i] / static_cast<double>(std::max<int64_t>(1, axis.from));
    }
  }
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (!by_scale && policy != "stretch" && !axes.empty()) {
    keep_aspect_ratio(plan, axes, policy == "not_larger");
  }
  return plan;
}

std::vector<Tensor> resize(const PlainCall& call) {
  const Shape& x = call.input(0).shape();
  auto optional = [&](size_t i) { return call.has(i) ? &call.input(i) : nullptr; };
  bool old = call.node.type == "Upsample" || call.opset() < 11;
  return interpolate(call, old ? plan_by_scales(call.node, x, optional(1))
                               : plan_resize(call.node, x, optional(1), optional(2), optional(3)));
}

// Nearest by whole factors copies each element: y[.., i, ..] = x[.., i / factor, ..].
std::optional<Lowered> lower_resize(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals(0) || node.text("mode", "nearest") != "nearest") {
    return std::nullopt;
  }
  for (size_t i = 1; i < builder.input_count(); ++i) {
    if (builder.has(i) && builder.constant(i) == nullptr) return std::nullopt;
  }
  const Shape& x = builder.shape(0);
  bool old = node.type == "Upsample" || builder.opset() < 11;
  ResizePlan plan =
      old ? plan_by_scales(node, x, builder.constant(1))
          : plan_resize(node, x, builder.constant(1), builder.constant(2), builder.constant(3));
  std::vector<expression::Index> indices;
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t to = plan.axes[i].to;
    int64_t factor = x[i] == 0 ? 0 : to / x[i];
    if (factor < 1 || to % x[i] != 0) return std::nullopt;
    std::vector<std::vector<Tap>> taps = plan.taps(i);
    for (int64_t p = 0; p < to; ++p) {
      if (taps[static_cast<size_t>(p)][0].position != p / factor) return std::nullopt;
    }
    indices.push_back(factor == 1 ? axis(i) : floor_div(axis(i), factor));
  }
  return builder.finish(
      {builder.add_stage(map_stage("y", plan.shape(), builder.read(0, std::move(indices))))});
}

}  // namespace

std::vector<KernelDefinition> resize_kernels() {
  return {{"Resize", lower_resize, resize}, {"Upsample", lower_resize, resize}};
}

}  // namespace opsmith::kernels
