#include <cstring>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/dispatch.h"

namespace opsmith::kernels {
namespace {

size_t movable_size(const Tensor& tensor, const graph::Node& node) {
  size_t size = element_size(tensor.type());
  if (size == 0) throw Unsupported(describe(node) + ": element type " + to_string(tensor.type()));
  return size;
}

std::vector<Tensor> gather(const PlainCall& call) {
  const Tensor& x = call.input(0);
  auto axis =
      static_cast<size_t>(normalize_axis(call.node.integer("axis", 0), x.rank(), call.node));
  std::vector<int64_t> indices = call.integers(1);
  const Shape& index_shape = call.input(1).shape();
  Shape shape(x.shape().begin(), x.shape().begin() + static_cast<int64_t>(axis));
  shape.insert(shape.end(), index_shape.begin(), index_shape.end());
  shape.insert(shape.end(), x.shape().begin() + static_cast<int64_t>(axis) + 1, x.shape().end());
  Tensor y = call.output(0, x.type(), shape);
  int64_t extent = x.shape()[axis];
  size_t run = static_cast<size_t>(extent_product(x.shape(), axis + 1, x.shape().size())) *
               movable_size(x, call.node);
  int64_t outer = extent_product(x.shape(), 0, axis);
  auto* out = static_cast<char*>(y.raw());
  for (int64_t& index : indices) index = checked_index(index, extent, call.node);
  for (int64_t o = 0; o < outer; ++o) {
    const char* from = static_cast<const char*>(x.raw()) + static_cast<size_t>(o * extent) * run;
    for (int64_t index : indices) {
      if (run > 0) std::memcpy(out, from + static_cast<size_t>(index) * run, run);
      out += run;
    }
  }
  return {y};
}

std::vector<Tensor> gather_elements(const PlainCall& call) {
  const Tensor& x = call.input(0);
  auto axis =
      static_cast<size_t>(normalize_axis(call.node.integer("axis", 0), x.rank(), call.node));
  std::vector<int64_t> indices = call.integers(1);
  const Shape& shape = call.input(1).shape();
  if (shape.size() != x.shape().size()) {
    throw UserError(describe(call.node) + ": indices and data differ in rank");
  }
  Tensor y = call.output(0, x.type(), shape);
  std::vector<int64_t> strides = row_major_strides(x.shape());
  dispatch_size(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    const T* in = elements_as<T>(x);
    T* out = elements_as<T>(y);
    for (size_t flat = 0; flat < indices.size(); ++flat) {
      int64_t rest = static_cast<int64_t>(flat), offset = 0;
      for (size_t i = shape.size(); i-- > 0;) {
        int64_t position = rest % shape[i];
        rest /= shape[i];
        if (i == axis) position = checked_index(indices[flat], x.shape()[i], call.node);
        offset += position * strides[i];
      }
      out[flat] = in[offset];
    }
  });
  return {y};
}

std::vector<Tensor> gather_nd(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const Shape& index_shape = call.input(1).shape();
  auto batch = static_cast<size_t>(call.node.integer("batch_dims", 0));
  if (index_shape.empty() || batch + static_cast<size_t>(index_shape.back()) > x.shape().size()) {
    throw UserError(describe(call.node) + ": indices " + to_string(index_shape) +
                    " do not fit data " + to_string(x.shape()));
  }
  auto depth = static_cast<size_t>(index_shape.back());
  std::vector<int64_t> indices = call.integers(1);
  Shape shape(index_shape.begin(), index_shape.end() - 1);
  shape.insert(shape.end(), x.shape().begin() + static_cast<int64_t>(batch + depth),
               x.shape().end());
  Tensor y = call.output(0, x.type(), shape);
  std::vector<int64_t> strides = row_major_strides(x.shape());
  int64_t batches = extent_product(x.shape(), 0, batch);
  int64_t run = extent_product(x.shape(), batch + depth, x.shape().size());
  size_t bytes = static_cast<size_t>(run) * movable_size(x, call.node);
  int64_t tuples = depth == 0 ? extent_product(index_shape, 0, index_shape.size() - 1)
                              : static_cast<int64_t>(indices.size() / depth);
  int64_t per_batch = batches == 0 ? 0 : tuples / batches;
  auto* out = static_cast<char*>(y.raw());
  for (int64_t tuple = 0; tuple < tuples; ++tuple) {
    int64_t offset = tuple / per_batch * extent_product(x.shape(), batch, x.shape().size());
    for (size_t i = 0; i < depth; ++i) {
      int64_t index = indices[static_cast<size_t>(tuple) * depth + i];
      offset += checked_index(index, x.shape()[batch + i], call.node) * strides[batch + i];
    }
    std::memcpy(
        out,
        static_cast<const char*>(x.raw()) + static_cast<size_t>(offset) * element_size(x.type()),
        bytes);
    out += bytes;
  }
  return {y};
}

}  // namespace

std::vector<KernelDefinition> gather_kernels() {
  return {{"Gather", nullptr, gather, Handling::Moved},
          {"GatherElements", nullptr, gather_elements, Handling::Moved},
          {"GatherND", nullptr, gather_nd, Handling::Moved}};
}

}  // namespace opsmith::kernels
