#include "runtime/kernels/plain/sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/reals.h"
#include "runtime/kernels/window.h"
#include "support/error.h"

// Operators that read at fractional positions: GridSample, AffineGrid, DeformConv.
namespace opsmith::kernels {
namespace {

/// How GridSample reads; names of before operator set 20 say "bilinear" and "bicubic".
struct GridMode {
  enum class Interpolation { Nearest, Linear, Cubic } interpolation = Interpolation::Linear;
  enum class Padding { Zeros, Border, Reflection } padding = Padding::Zeros;
  bool align_corners = false;
};

GridMode read_mode(const graph::Node& node) {
  GridMode mode;
  const std::string interpolation = node.text("mode", "linear");
  const std::string padding = node.text("padding_mode", "zeros");
  if (interpolation == "nearest") {
    mode.interpolation = GridMode::Interpolation::Nearest;
  } else if (interpolation == "cubic" || interpolation == "bicubic") {
    mode.interpolation = GridMode::Interpolation::Cubic;
  } else if (interpolation != "linear" && interpolation != "bilinear") {
    throw UserError(describe(node) + ": unknown mode " + interpolation);
  }
  if (padding == "border") {
    mode.padding = GridMode::Padding::Border;
  } else if (padding == "reflection") {
    mode.padding = GridMode::Padding::Reflection;
  } else if (padding != "zeros") {
    throw UserError(describe(node) + ": unknown padding_mode " + padding);
  }
  mode.align_corners = node.integer("align_corners", 0) != 0;
  return mode;
}

double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double distance = x < low ? low - x : x - high;
  if (distance <= 0) return x;
  const double turns = std::floor(distance / range), rest = distance - turns * range;
  const bool from_near = std::fmod(turns, 2) == 0;
  return (x < low) == from_near ? low + rest : high - rest;
}

/// The taps of a normalised coordinate in [-1, 1] along one dimension.
std::vector<Tap> grid_taps(double coordinate, int64_t extent, const GridMode& mode) {
  const auto size = static_cast<double>(extent);
  const double low = mode.align_corners ? 0 : -0.5;
  const double high = mode.align_corners ? size - 1 : size - 0.5;
  double x =
      mode.align_corners ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;
  if (std::isnan(x)) x = low;
  if (mode.interpolation == GridMode::Interpolation::Nearest) x = std::nearbyint(x);
  if (x < low || x > high) {
    if (mode.padding == GridMode::Padding::Border) x = std::clamp(x, 0.0, size - 1);
    if (mode.padding == GridMode::Padding::Reflection) x = reflect(x, low, high);
    x = std::clamp(x, -4.0, size + 4);  // all zeros that far outside
  }
  const auto inside = [&](int64_t p) -> int64_t {
    if (p >= 0 && p < extent) return p;
    if (mode.padding == GridMode::Padding::Zeros) return -1;
    if (mode.padding == GridMode::Padding::Border) return std::clamp<int64_t>(p, 0, extent - 1);
    return std::clamp<int64_t>(static_cast<int64_t>(reflect(static_cast<double>(p), low, high)), 0,
                               extent - 1);
  };
  const double below = std::floor(x), t = x - below;
  const auto first = static_cast<int64_t>(below);
  switch (mode.interpolation) {
    case GridMode::Interpolation::Nearest:
      return {{inside(static_cast<int64_t>(x)), 1}};
    case GridMode::Interpolation::Linear:
      return {{inside(first), 1 - t}, {inside(first + 1), t}};
    case GridMode::Interpolation::Cubic:
      break;
  }
  constexpr double a = -0.75;
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {{inside(first - 1), far(t + 1)},
          {inside(first), near(t)},
          {inside(first + 1), near(1 - t)},
          {inside(first + 2), far(2 - t)}};
}

// X [N, C, d1, ..., dr] at the positions grid [N, o1, ..., or, r], innermost dimension first.
std::vector<Tensor> grid_sample(const PlainCall& call) {
  const Tensor &x = call.input(0), &grid = call.input(1);
  const size_t rank = x.shape().size() < 3 ? 0 : x.shape().size() - 2;
  if (rank == 0 || grid.shape().size() != rank + 2 || grid.shape()[0] != x.shape()[0] ||
      grid.shape().back() != static_cast<int64_t>(rank)) {
    throw UserError(describe(call.node) + ": the grid " + to_string(grid.shape()) +
                    " does not fit the input " + to_string(x.shape()));
  }
  const GridMode mode = read_mode(call.node);
  const Shape extents(x.shape().begin() + 2, x.shape().end());
  Shape shape = {x.shape()[0], x.shape()[1]};
  shape.insert(shape.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  const int64_t points = extent_product(shape, 2, shape.size()), plane = element_count(extents);
  const std::vector<double> in = to_reals(x), at = to_reals(grid);
  std::vector<double> out(static_cast<size_t>(element_count(shape)), 0);
  std::vector<std::vector<Tap>> taps(rank);
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t p = 0; p < points && plane > 0; ++p) {
      const double* coordinates = at.data() + (n * points + p) * static_cast<int64_t>(rank);
      for (size_t i = 0; i < rank; ++i) {
        taps[i] = grid_taps(coordinates[rank - 1 - i], extents[i], mode);
      }
      for (int64_t c = 0; c < shape[1]; ++c) {
        const int64_t map = n * shape[1] + c;
        out[static_cast<size_t>(map * points + p)] = sample(in.data() + map * plane, extents, taps);
      }
    }
  }
  return {from_reals(call, 0, x.type(), shape, out)};
}

// theta [N, r, r + 1] applied to evenly spaced positions in [-1, 1], innermost dimension first.
std::vector<Tensor> affine_grid(const PlainCall& call) {
  const Tensor& theta = call.input(0);
  const std::vector<int64_t> size = call.integers(1);
  const size_t rank = size.size() < 3 ? 0 : size.size() - 2;
  if (rank == 0 ||
      theta.shape() != Shape{size[0], static_cast<int64_t>(rank), static_cast<int64_t>(rank) + 1}) {
    throw UserError(describe(call.node) + ": theta " + to_string(theta.shape()) +
                    " does not fit the size " + to_string(Shape(size)));
  }
  const bool align = call.node.integer("align_corners", 0) != 0;
  const Shape extents(size.begin() + 2, size.end());
  Shape shape = {size[0]};
  shape.insert(shape.end(), extents.begin(), extents.end());
  shape.push_back(static_cast<int64_t>(rank));
  const std::vector<double> matrices = to_reals(theta);
  std::vector<double> out(static_cast<size_t>(element_count(shape)));
  const int64_t points = element_count(extents);
  std::vector<double> position(rank + 1, 1.0);
  for (size_t flat = 0; flat < out.size() / rank; ++flat) {
    int64_t rest = static_cast<int64_t>(flat) % points;
    for (size_t i = rank; i-- > 0;) {
      const auto extent = static_cast<double>(extents[i]);
      const auto p = static_cast<double>(rest % extents[i]);
      rest /= extents[i];
      const double spread = extent == 1 ? 0 : 2 * p / (extent - 1) - 1;
      position[rank - 1 - i] = align ? spread : (2 * p + 1) / extent - 1;
    }
    const double* matrix = matrices.data() + static_cast<int64_t>(flat) / points *
                                                 static_cast<int64_t>(rank * (rank + 1));
    for (size_t i = 0; i < rank; ++i) {
      double sum = 0;
      for (size_t j = 0; j <= rank; ++j) sum += matrix[i * (rank + 1) + j] * position[j];
      out[flat * rank + i] = sum;
    }
  }
  return {from_reals(call, 0, theta.type(), shape, out)};
}

// A convolution whose taps are moved by offsets and weighted by a mask.
std::vector<Tensor> deformable_convolution(const PlainCall& call) {
  const Shape &xs = call.input(0).shape(), &ws = call.input(1).shape();
  const int64_t groups = call.node.integer("group", 1);
  const int64_t offset_groups = call.node.integer("offset_group", 1);
  if (xs.size() < 3 || ws.size() != xs.size() || groups < 1 || offset_groups < 1 ||
      xs[1] != ws[1] * groups || ws[0] % groups != 0 || xs[1] % offset_groups != 0) {
    throw UserError(describe(call.node) + ": input " + to_string(xs) + " and weight " +
                    to_string(ws) + " are no convolution");
  }
  const Shape extents(xs.begin() + 2, xs.end());
  const Window window = make_window(call.node, extents, {ws.begin() + 2, ws.end()});
  const size_t rank = window.rank();
  const int64_t taps = element_count(window.kernel), points = element_count(window.output);
  const int64_t plane = element_count(extents), dims = static_cast<int64_t>(rank);
  if (call.input(2).count() != xs[0] * offset_groups * taps * dims * points ||
      (call.has(4) && call.input(4).count() != xs[0] * offset_groups * taps * points)) {
    throw UserError(describe(call.node) + ": offsets or mask do not fit the output");
  }
  const std::vector<double> x = to_reals(call.input(0)), w = to_reals(call.input(1)),
                            offset = to_reals(call.input(2));
  const std::vector<double> bias = call.has(3) ? to_reals(call.input(3)) : std::vector<double>{};
  const std::vector<double> mask = call.has(4) ? to_reals(call.input(4)) : std::vector<double>{};
  Shape shape = {xs[0], ws[0]};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  std::vector<double> out(static_cast<size_t>(element_count(shape)), 0);
  std::vector<std::vector<Tap>> at(rank);
  for (int64_t n = 0; n < xs[0]; ++n) {
    for (int64_t c = 0; c < xs[1]; ++c) {
      const int64_t group = n * offset_groups + c / (xs[1] / offset_groups);
      const int64_t first = c / ws[1] * (ws[0] / groups);
      for (int64_t p = 0; p < points; ++p) {
        for (int64_t t = 0; t < taps; ++t) {
          int64_t point = p, tap = t;
          for (size_t i = rank; i-- > 0;) {
            const int64_t place = point % window.output[i] * window.strides[i] + window.origin(i) +
                                  tap % window.kernel[i] * window.dilations[i];
            point /= window.output[i];
            tap /= window.kernel[i];
            const int64_t row = (group * taps + t) * dims + static_cast<int64_t>(i);
            at[i] = linear_taps(
                static_cast<double>(place) + offset[static_cast<size_t>(row * points + p)],
                extents[i]);
          }
          double value = sample(x.data() + (n * xs[1] + c) * plane, extents, at);
          if (!mask.empty()) value *= mask[static_cast<size_t>((group * taps + t) * points + p)];
          for (int64_t o = first; o < first + ws[0] / groups; ++o) {
            out[static_cast<size_t>((n * ws[0] + o) * points + p)] +=
                value * w[static_cast<size_t>((o * ws[1] + c % ws[1]) * taps + t)];
          }
        }
      }
    }
  }
  for (size_t i = 0; i < out.size() && !bias.empty(); ++i) {
    out[i] += bias.at(static_cast<size_t>(static_cast<int64_t>(i) / points % ws[0]));
  }
  return {from_reals(call, 0, call.input(0).type(), shape, out)};
}

}  // namespace

std::vector<Tap> linear_taps(double position, int64_t extent) {
  if (!(position > -1 && position < static_cast<double>(extent))) return {{-1, 0}};
  const double below = std::floor(position);
  const auto first = static_cast<int64_t>(below);
  return {{first, 1 - (position - below)}, {first + 1 < extent ? first + 1 : -1, position - below}};
}

double sample(const double* data, const Shape& extents, const std::vector<std::vector<Tap>>& taps) {
  const std::function<double(size_t, int64_t)> sum = [&](size_t i, int64_t offset) {
    if (i == extents.size()) return data[offset];
    double total = 0;
    for (const Tap& tap : taps[i]) {
      if (tap.position < 0 || tap.weight == 0) continue;
      total += tap.weight * sum(i + 1, offset * extents[i] + tap.position);
    }
    return total;
  };
  return sum(0, 0);
}

std::vector<KernelDefinition> sampling_kernels() {
  return {{"GridSample", nullptr, grid_sample},
          {"AffineGrid", nullptr, affine_grid},
          {"DeformConv", nullptr, deformable_convolution}};
}

}  // namespace opsmith::kernels
