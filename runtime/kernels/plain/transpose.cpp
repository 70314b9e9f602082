#include <algorithm>
#include <cstring>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/dispatch.h"

namespace opsmith::kernels {
namespace {

// Writes the output in order; the innermost loop walks one input stride.
std::vector<Tensor> transpose(const PlainCall& call) {
  const Tensor& x = call.input(0);
  size_t rank = x.shape().size();
  std::vector<int64_t> reversed;
  for (size_t i = rank; i-- > 0;) reversed.push_back(static_cast<int64_t>(i));
  std::vector<int64_t> order = call.node.integers("perm", reversed);
  if (normalize_axes(order, x.rank(), call.node).size() != rank) {
    throw UserError(describe(call.node) + ": perm is no permutation of the dimensions");
  }
  std::vector<int64_t> strides = row_major_strides(x.shape());
  Shape shape(rank);
  std::vector<int64_t> steps(rank);
  for (size_t i = 0; i < rank; ++i) {
    auto from = static_cast<size_t>(normalize_axis(order[i], x.rank(), call.node));
    shape[i] = x.shape()[from];
    steps[i] = strides[from];
  }
  Tensor y = call.output(0, x.type(), shape);
  if (rank == 0) {
    std::memcpy(y.raw(), x.raw(), y.bytes());
    return {y};
  }
  int64_t inner = shape[rank - 1], inner_step = steps[rank - 1];
  int64_t rows = inner == 0 ? 0 : y.count() / inner;
  dispatch_size(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    const T* in = elements_as<T>(x);
    T* out = elements_as<T>(y);
    std::vector<int64_t> position(rank, 0);
    int64_t offset = 0;
    for (int64_t row = 0; row < rows; ++row, out += inner) {
      if (inner_step == 1) {
        std::copy_n(in + offset, inner, out);
      } else {
        for (int64_t i = 0; i < inner; ++i) out[i] = in[offset + i * inner_step];
      }
      for (size_t i = rank - 1; i-- > 0;) {
        offset += steps[i];
        if (++position[i] < shape[i]) break;
        offset -= steps[i] * shape[i];
        position[i] = 0;
      }
    }
  });
  return {y};
}

}  // namespace

std::vector<KernelDefinition> transpose_kernels() {
  return {{"Transpose", nullptr, transpose, Handling::Moved}};
}

}  // namespace opsmith::kernels
