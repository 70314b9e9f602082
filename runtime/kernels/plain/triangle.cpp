#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/dispatch.h"

namespace opsmith::kernels {
namespace {

// The upper or lower triangle of the last two dimensions; the rest is zero.
std::vector<Tensor> trilu(const PlainCall& call) {
  const Tensor& x = call.input(0);
  if (x.rank() < 2) throw UserError(describe(call.node) + ": a matrix is needed");
  int64_t shift = call.has(1) ? call.integers(1).at(0) : 0;
  bool upper = call.node.integer("upper", 1) != 0;
  int64_t columns = x.shape().back();
  int64_t rows = x.shape()[x.shape().size() - 2];
  Tensor y = call.output(0, x.type(), x.shape());
  dispatch_size(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    const T* in = elements_as<T>(x);
    T* out = elements_as<T>(y);
    for (int64_t flat = 0; flat < x.count(); ++flat) {
      int64_t column = flat % columns, row = flat / columns % rows;
      bool kept = upper ? column - row >= shift : column - row <= shift;
      out[flat] = kept ? in[flat] : T{0};
    }
  });
  return {y};
}

}  // namespace

std::vector<KernelDefinition> triangle_kernels() {
  return {{"Trilu", nullptr, trilu, Handling::Moved}};
}

}  // namespace opsmith::kernels
