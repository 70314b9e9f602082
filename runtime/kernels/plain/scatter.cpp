#include <cstring>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/dispatch.h"

namespace opsmith::kernels {
namespace {

template <typename T>
void accumulate(T& into, T value, const std::string& reduction) {
  if (reduction == "add")
    into = static_cast<T>(into + value);
  else if (reduction == "mul")
    into = static_cast<T>(into * value);
  else if (reduction == "max")
    into = std::max(into, value);
  else if (reduction == "min")
    into = std::min(into, value);
  else
    into = value;
}

// Elements of which nothing is computed may be of any fixed size.
template <typename Function>
void dispatch_scatter(const PlainCall& call, const std::string& reduction,
                      const Function& function) {
  const ElementType type = call.input(0).type();
  if (reduction == "none") {
    dispatch_size(type, call.node, function);
  } else {
    dispatch_numeric(type, call.node, function);
  }
}

Tensor copy_of_data(const PlainCall& call) {
  const Tensor& x = call.input(0);
  Tensor y = call.output(0, x.type(), x.shape());
  if (y.bytes() > 0) std::memcpy(y.raw(), x.raw(), y.bytes());
  return y;
}

std::vector<Tensor> scatter_nd(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const Tensor& updates = call.input(2);
  const Shape& index_shape = call.input(1).shape();
  std::vector<int64_t> indices = call.integers(1);
  if (index_shape.empty() || index_shape.back() > x.rank() || updates.type() != x.type()) {
    throw UserError(describe(call.node) + ": indices or updates do not fit the data");
  }
  auto depth = static_cast<size_t>(index_shape.back());
  std::vector<int64_t> strides = row_major_strides(x.shape());
  int64_t run = extent_product(x.shape(), depth, x.shape().size());
  int64_t tuples = extent_product(index_shape, 0, index_shape.size() - 1);
  if (updates.count() != tuples * run) {
    throw UserError(describe(call.node) + ": updates " + to_string(updates.shape()) +
                    " do not fit the indices");
  }
  std::string reduction = call.node.text("reduction", "none");
  Tensor y = copy_of_data(call);
  dispatch_scatter(call, reduction, [&](auto tag) {
    using T = decltype(tag);
    const T* from = elements_as<T>(updates);
    T* out = elements_as<T>(y);
    for (int64_t tuple = 0; tuple < tuples; ++tuple) {
      int64_t offset = 0;
      for (size_t i = 0; i < depth; ++i) {
        int64_t index = indices[static_cast<size_t>(tuple) * depth + i];
        offset += checked_index(index, x.shape()[i], call.node) * strides[i];
      }
      for (int64_t i = 0; i < run; ++i)
        accumulate(out[offset + i], from[tuple * run + i], reduction);
    }
  });
  return {y};
}

std::vector<Tensor> scatter_elements(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const Tensor& updates = call.input(2);
  auto axis =
      static_cast<size_t>(normalize_axis(call.node.integer("axis", 0), x.rank(), call.node));
  std::vector<int64_t> indices = call.integers(1);
  const Shape& shape = call.input(1).shape();
  if (shape != updates.shape() || shape.size() != x.shape().size() || updates.type() != x.type()) {
    throw UserError(describe(call.node) + ": indices and updates do not fit the data");
  }
  std::vector<int64_t> strides = row_major_strides(x.shape());
  std::string reduction = call.node.text("reduction", "none");
  Tensor y = copy_of_data(call);
  dispatch_scatter(call, reduction, [&](auto tag) {
    using T = decltype(tag);
    const T* from = elements_as<T>(updates);
    T* out = elements_as<T>(y);
    for (size_t flat = 0; flat < indices.size(); ++flat) {
      int64_t rest = static_cast<int64_t>(flat), offset = 0;
      for (size_t i = shape.size(); i-- > 0;) {
        int64_t position = rest % shape[i];
        rest /= shape[i];
        if (i == axis) position = checked_index(indices[flat], x.shape()[i], call.node);
        offset += position * strides[i];
      }
      accumulate(out[offset], from[flat], reduction);
    }
  });
  return {y};
}

}  // namespace

std::vector<KernelDefinition> scatter_kernels() {
  return {{"ScatterND", nullptr, scatter_nd, Handling::Moved},
          {"ScatterElements", nullptr, scatter_elements, Handling::Moved},
          {"Scatter", nullptr, scatter_elements, Handling::Moved}};
}

}  // namespace opsmith::kernels
