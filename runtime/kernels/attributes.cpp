#include "runtime/kernels/attributes.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::kernels {

const Tensor& PlainCall::input(size_t i) const {
  if (!has(i)) {
    throw UserError(describe(node) + ": input " + std::to_string(i) + " is missing");
  }
  return inputs[i];
}

Tensor PlainCall::output(size_t i, ElementType type, const Shape& shape) const {
  if (place && i < node.outputs.size()) {
    Tensor placed = place(i, type, shape);
    if (placed.defined()) return placed;
  }
  return Tensor(type, shape);
}

std::vector<int64_t> PlainCall::integers(size_t i, const std::vector<int64_t>& fallback) const {
  return has(i) ? to_integers(inputs[i], node) : fallback;
}

int64_t normalize_axis(int64_t axis, int64_t rank, const graph::Node& node) {
  int64_t normal = axis < 0 ? axis + rank : axis;
  if (normal < 0 || normal >= rank) {
    throw UserError(describe(node) + ": axis " + std::to_string(axis) + " is outside a tensor of " +
                    std::to_string(rank) + " dimensions");
  }
  return normal;
}

std::vector<int64_t> normalize_axes(std::vector<int64_t> axes, int64_t rank,
                                    const graph::Node& node) {
  for (int64_t& axis : axes) axis = normalize_axis(axis, rank, node);
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

int64_t checked_index(int64_t index, int64_t extent, const graph::Node& node) {
  int64_t position = index < 0 ? index + extent : index;
  if (position < 0 || position >= extent) {
    throw UserError(describe(node) + ": index " + std::to_string(index) + " outside an extent of " +
                    std::to_string(extent));
  }
  return position;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const graph::Node& node) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) {
      throw UserError(describe(node) + ": shapes " + to_string(a) + " and " + to_string(b) +
                      " do not broadcast");
    }
    result[result.size() - 1 - i] = left == 1 ? right : left;
  }
  return result;
}

Shape aligned_shape(const Shape& a, const Shape& b, const graph::Node& node, int64_t opset) {
  if (opset >= 7 || node.integer("broadcast", 0) == 0 || !node.has("axis")) return b;
  const auto rank = static_cast<int64_t>(a.size());
  const int64_t first = normalize_axis(node.integer("axis", 0), rank, node);
  const int64_t behind = rank - first - static_cast<int64_t>(b.size());
  if (behind < 0) throw UserError(describe(node) + ": axis and broadcast do not fit the shapes");
  Shape shape = b;
  shape.insert(shape.end(), static_cast<size_t>(behind), 1);
  return shape;
}

std::vector<int64_t> to_integers(const Tensor& tensor, const graph::Node& node) {
  switch (tensor.type()) {
    case ElementType::Int8:
    case ElementType::Int16:
    case ElementType::Int32:
    case ElementType::Int64:
    case ElementType::UInt8:
    case ElementType::UInt16:
    case ElementType::UInt32:
    case ElementType::UInt64:
    case ElementType::Bool: {
      Tensor wide = tensor.type() == ElementType::Int64 ? tensor : tensor.cast(ElementType::Int64);
      auto values = wide.data<int64_t>();
      return {values.begin(), values.end()};
    }
    default:
      throw UserError(describe(node) + ": expected integers, found " + to_string(tensor.type()));
  }
}

std::vector<int64_t> row_major_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

int64_t extent_product(const Shape& shape, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i) product *= shape[i];
  return product;
}

}  // namespace opsmith::kernels
