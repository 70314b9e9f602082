#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/reals.h"
#include "runtime/kernels/plain/sampling.h"
#include "support/error.h"

// Operators on regions of an image: RoiAlign, MaxRoiPool, NonMaxSuppression.
namespace opsmith::kernels {
namespace {

void check_regions(const PlainCall& call, int64_t width) {
  const Shape &x = call.input(0).shape(), &regions = call.input(1).shape();
  if (x.size() != 4 || regions.size() != 2 || regions[1] != width) {
    throw UserError(describe(call.node) + ": regions " + to_string(regions) +
                    " do not fit the input " + to_string(x));
  }
}

/// A sampling point may lie up to one pixel outside; there it counts as being on the edge.
std::vector<Tap> region_taps(double position, int64_t extent) {
  if (position < -1 || position > static_cast<double>(extent)) return {{-1, 0}};
  return linear_taps(std::clamp(position, 0.0, static_cast<double>(extent - 1)), extent);
}

/// Largest product of weight and element among the four neighbours, as the specification's `max`.
double largest_term(const double* data, const Shape& extents,
                    const std::vector<std::vector<Tap>>& taps) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const Tap& row : taps[0]) {
    for (const Tap& column : taps[1]) {
      const bool outside = row.position < 0 || column.position < 0;
      const double value =
          outside ? 0
                  : row.weight * column.weight * data[row.position * extents[1] + column.position];
      largest = std::max(largest, value);
    }
  }
  return largest;
}

// Regions [count, 4] as x1, y1, x2, y2, and the image of each. Positions are shifted by half a
// pixel since operator set 16.
std::vector<Tensor> roi_align(const PlainCall& call) {
  check_regions(call, 4);
  const graph::Node& node = call.node;
  const Shape& xs = call.input(0).shape();
  const int64_t height = node.integer("output_height", 1), width = node.integer("output_width", 1);
  const int64_t ratio = node.integer("sampling_ratio", 0);
  const double scale = node.real("spatial_scale", 1);
  const bool takes_max = node.text("mode", "avg") == "max";
  const bool half = call.opset() >= 16 &&
                    node.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const std::vector<double> x = to_reals(call.input(0)), regions = to_reals(call.input(1));
  const std::vector<int64_t> images = call.integers(2);
  const Shape shape = {call.input(1).shape()[0], xs[1], height, width}, extents = {xs[2], xs[3]};
  std::vector<double> out(static_cast<size_t>(element_count(shape)), 0);
  double* to = out.data();
  for (int64_t r = 0; r < shape[0]; ++r) {
    const double* box = regions.data() + 4 * r;
    const int64_t image = checked_index(images.at(static_cast<size_t>(r)), xs[0], node);
    const double shift = half ? 0.5 : 0;
    const double left = box[0] * scale - shift, top = box[1] * scale - shift;
    double span_x = box[2] * scale - shift - left, span_y = box[3] * scale - shift - top;
    if (!half) {
      span_x = std::max(span_x, 1.0);
      span_y = std::max(span_y, 1.0);
    }
    const double bin_y = span_y / static_cast<double>(height);
    const double bin_x = span_x / static_cast<double>(width);
    constexpr double kMostPoints = 4096;
    const auto points = [&](double bin) {
      if (!(bin <= kMostPoints)) throw UserError(describe(node) + ": a region is far too large");
      return ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(bin));
    };
    const int64_t rows = points(bin_y), columns = points(bin_x);
    for (int64_t c = 0; c < xs[1]; ++c) {
      const double* map = x.data() + (image * xs[1] + c) * xs[2] * xs[3];
      for (int64_t cell = 0; cell < height * width; ++cell) {
        double sum = 0, largest = -std::numeric_limits<double>::infinity();
        for (int64_t point = 0; point < rows * columns; ++point) {
          const auto place = [](double begin, double bin, int64_t cell_at, int64_t i, int64_t n) {
            return begin + bin * (static_cast<double>(cell_at) +
                                  (static_cast<double>(i) + 0.5) / static_cast<double>(n));
          };
          const std::vector<std::vector<Tap>> taps = {
              region_taps(place(top, bin_y, cell / width, point / columns, rows), xs[2]),
              region_taps(place(left, bin_x, cell % width, point % columns, columns), xs[3])};
          if (takes_max) {
            largest = std::max(largest, largest_term(map, extents, taps));
          } else {
            sum += sample(map, extents, taps);
          }
        }
        const auto count = static_cast<double>(std::max<int64_t>(1, rows * columns));
        *to++ = !takes_max ? sum / count : rows * columns > 0 ? largest : 0;
      }
    }
  }
  return {from_reals(call, 0, call.input(0).type(), shape, out)};
}

// Regions [count, 5] as image, x1, y1, x2, y2, rounded to whole pixels, both ends inside.
std::vector<Tensor> max_roi_pool(const PlainCall& call) {
  check_regions(call, 5);
  const Shape& xs = call.input(0).shape();
  const std::vector<int64_t> pooled = call.node.integers("pooled_shape");
  if (pooled.size() != 2) throw UserError(describe(call.node) + ": pooled_shape needs two numbers");
  const double scale = call.node.real("spatial_scale", 1);
  const std::vector<double> x = to_reals(call.input(0)), regions = to_reals(call.input(1));
  const Shape shape = {call.input(1).shape()[0], xs[1], pooled[0], pooled[1]};
  std::vector<double> out(static_cast<size_t>(element_count(shape)), 0);
  double* to = out.data();
  for (int64_t r = 0; r < shape[0]; ++r) {
    const double* box = regions.data() + 5 * r;
    const int64_t image = checked_index(static_cast<int64_t>(box[0]), xs[0], call.node);
    // First row of bin i of `count`, and the row behind its last.
    const auto bin = [&](double first, double last, int64_t i, int64_t count, int64_t extent) {
      const double begin = std::round(first * scale);
      const double size = std::max(1.0, std::round(last * scale) - begin + 1);
      const double step = size / static_cast<double>(count), limit = static_cast<double>(extent);
      const double low = std::floor(static_cast<double>(i) * step) + begin;
      const double high = std::ceil(static_cast<double>(i + 1) * step) + begin;
      return std::pair(static_cast<int64_t>(std::clamp(low, 0.0, limit)),
                       static_cast<int64_t>(std::clamp(high, 0.0, limit)));
    };
    for (int64_t c = 0; c < xs[1]; ++c) {
      const double* map = x.data() + (image * xs[1] + c) * xs[2] * xs[3];
      for (int64_t cell = 0; cell < pooled[0] * pooled[1]; ++cell) {
        const auto [top, bottom] = bin(box[2], box[4], cell / pooled[1], pooled[0], xs[2]);
        const auto [left, right] = bin(box[1], box[3], cell % pooled[1], pooled[1], xs[3]);
        double largest = top < bottom && left < right ? map[top * xs[3] + left] : 0;
        for (int64_t i = top; i < bottom; ++i) {
          for (int64_t j = left; j < right; ++j) largest = std::max(largest, map[i * xs[3] + j]);
        }
        *to++ = largest;
      }
    }
  }
  return {from_reals(call, 0, call.input(0).type(), shape, out)};
}

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box make_box(const double* at, bool centre) {
  if (centre) {
    return {at[1] - at[3] / 2, at[0] - at[2] / 2, at[1] + at[3] / 2, at[0] + at[2] / 2};
  }
  return {std::min(at[0], at[2]), std::min(at[1], at[3]), std::max(at[0], at[2]),
          std::max(at[1], at[3])};
}

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const double common = height * width, both = a.area() + b.area() - common;
  return both <= 0 ? 0 : common / both;
}

// Per image and class the best boxes that overlap none chosen before.
std::vector<Tensor> non_max_suppression(const PlainCall& call) {
  const Shape &boxes = call.input(0).shape(), &scores = call.input(1).shape();
  if (boxes.size() != 3 || boxes[2] != 4 || scores.size() != 3 || scores[0] != boxes[0] ||
      scores[2] != boxes[1]) {
    throw UserError(describe(call.node) + ": scores " + to_string(scores) +
                    " do not fit the boxes " + to_string(boxes));
  }
  const int64_t most = call.has(2) ? call.integers(2).at(0) : 0;
  const double most_overlap = call.has(3) ? to_reals(call.input(3)).at(0) : 0;
  const double least =
      call.has(4) ? to_reals(call.input(4)).at(0) : -std::numeric_limits<double>::infinity();
  const bool centre = call.node.integer("center_point_box", 0) != 0;
  const std::vector<double> place = to_reals(call.input(0)), score = to_reals(call.input(1));
  const int64_t count = boxes[1];
  std::vector<int64_t> chosen;
  for (int64_t row = 0; row < scores[0] * scores[1]; ++row) {
    const double* of = score.data() + row * count;
    std::vector<int64_t> order;
    for (int64_t i = 0; i < count; ++i) {
      if (of[i] >= least) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return of[a] > of[b]; });
    std::vector<Box> kept;
    for (const int64_t i : order) {
      if (static_cast<int64_t>(kept.size()) >= most) break;
      const Box box = make_box(place.data() + (row / scores[1] * count + i) * 4, centre);
      if (std::any_of(kept.begin(), kept.end(),
                      [&](const Box& other) { return overlap(box, other) > most_overlap; })) {
        continue;
      }
      kept.push_back(box);
      chosen.insert(chosen.end(), {row / scores[1], row % scores[1], i});
    }
  }
  return {Tensor::of<int64_t>({static_cast<int64_t>(chosen.size() / 3), 3}, chosen)};
}

}  // namespace

std::vector<KernelDefinition> region_kernels() {
  return {{"RoiAlign", nullptr, roi_align},
          {"MaxRoiPool", nullptr, max_roi_pool},
          {"NonMaxSuppression", nullptr, non_max_suppression}};
}

}  // namespace opsmith::kernels
