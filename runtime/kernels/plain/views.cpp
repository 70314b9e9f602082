#include <algorithm>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "support/error.h"

// Operators that keep the elements and change the shape, or only look at the shape.
namespace opsmith::kernels {
namespace {

// Zeros copy the input's extent (unless allowzero), one -1 is inferred.
Shape reshape_target(const PlainCall& call, const Shape& from) {
  Shape shape = call.integers(1, call.node.integers("shape"));
  bool copy_zeros = call.node.integer("allowzero", 0) == 0;
  int64_t known = 1;
  int64_t* inferred = nullptr;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && copy_zeros) {
      if (i >= from.size()) {
        throw UserError(describe(call.node) + ": extent 0 beyond the input's dimensions");
      }
      shape[i] = from[i];
    }
    if (shape[i] == -1) {
      inferred = &shape[i];
    } else {
      known *= shape[i];
    }
  }
  int64_t count = element_count(from);
  if (inferred != nullptr) *inferred = known == 0 ? 0 : count / known;
  if (element_count(shape) != count) {
    throw UserError(describe(call.node) + ": " + to_string(from) + " does not reshape to " +
                    to_string(shape));
  }
  return shape;
}

std::vector<Tensor> reshape(const PlainCall& call) {
  return {call.input(0).reshaped(reshape_target(call, call.input(0).shape()))};
}

std::vector<Tensor> flatten(const PlainCall& call) {
  const Shape& x = call.input(0).shape();
  auto rank = static_cast<int64_t>(x.size());
  int64_t axis = call.node.integer("axis", 1);
  if (axis != rank) axis = normalize_axis(axis, rank, call.node);
  auto at = static_cast<size_t>(axis);
  return {call.input(0).reshaped({extent_product(x, 0, at), extent_product(x, at, x.size())})};
}

std::vector<Tensor> squeeze(const PlainCall& call) {
  const Shape& x = call.input(0).shape();
  std::vector<int64_t> axes = normalize_axes(call.integers(1, call.node.integers("axes")),
                                             static_cast<int64_t>(x.size()), call.node);
  bool all = axes.empty();
  Shape shape;
  for (size_t i = 0; i < x.size(); ++i) {
    bool named = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i));
    if (named && x[i] != 1) {
      throw UserError(describe(call.node) + ": axis " + std::to_string(i) + " of " + to_string(x) +
                      " is not 1");
    }
    if (!(named || (all && x[i] == 1))) shape.push_back(x[i]);
  }
  return {call.input(0).reshaped(shape)};
}

std::vector<Tensor> unsqueeze(const PlainCall& call) {
  const Shape& x = call.input(0).shape();
  std::vector<int64_t> axes = call.integers(1, call.node.integers("axes"));
  auto rank = static_cast<int64_t>(x.size() + axes.size());
  axes = normalize_axes(std::move(axes), rank, call.node);
  Shape shape;
  size_t next = 0;
  for (int64_t i = 0; i < rank; ++i) {
    bool inserted = std::binary_search(axes.begin(), axes.end(), i);
    shape.push_back(inserted ? 1 : x.at(next++));
  }
  return {call.input(0).reshaped(shape)};
}

std::vector<Tensor> identity(const PlainCall& call) { return {call.input(0)}; }

std::vector<Tensor> shape_of(const PlainCall& call) {
  const Shape& x = call.input(0).shape();
  auto rank = static_cast<int64_t>(x.size());
  auto bound = [&](const char* name, int64_t fallback) {
    int64_t value = call.node.integer(name, fallback);
    return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  int64_t begin = bound("start", 0), end = std::max(begin, bound("end", rank));
  Tensor shape = call.output(0, ElementType::Int64, {end - begin});
  std::copy(x.begin() + begin, x.begin() + end, shape.data<int64_t>().begin());
  return {shape};
}

std::vector<Tensor> size_of(const PlainCall& call) {
  Tensor size = call.output(0, ElementType::Int64, {});
  size.data<int64_t>()[0] = call.input(0).count();
  return {size};
}

}  // namespace

std::vector<KernelDefinition> view_kernels() {
  return {{"Reshape", nullptr, reshape, Handling::Moved},
          {"Flatten", nullptr, flatten, Handling::Moved},
          {"Squeeze", nullptr, squeeze, Handling::Moved},
          {"Unsqueeze", nullptr, unsqueeze, Handling::Moved},
          {"Identity", nullptr, identity},
          {"Shape", nullptr, shape_of},
          {"Size", nullptr, size_of}};
}

}  // namespace opsmith::kernels
