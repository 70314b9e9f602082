#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/broadcast.h"
#include "runtime/kernels/plain/dispatch.h"
#include "runtime/kernels/program_builder.h"

namespace opsmith::kernels {
namespace {

using expression::Scalar;

std::optional<Lowered> lower_where(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (builder.type(0) != ElementType::Bool || builder.type(1) != builder.type(2) ||
      !builder.takes_reals(1)) {
    return std::nullopt;
  }
  Shape output = broadcast_shapes(broadcast_shapes(builder.shape(0), builder.shape(1), node),
                                  builder.shape(2), node);
  Scalar body = Scalar::select(builder.read_broadcast(0, output), builder.read_broadcast(1, output),
                               builder.read_broadcast(2, output));
  return builder.finish({builder.add_stage(map_stage("y", output, body))});
}

std::vector<Tensor> plain_where(const PlainCall& call) {
  const Tensor& condition = call.input(0);
  const Tensor& then = call.input(1);
  const Tensor& otherwise = call.input(2);
  Shape shape = broadcast_shapes(broadcast_shapes(condition.shape(), then.shape(), call.node),
                                 otherwise.shape(), call.node);
  Tensor y = call.output(0, then.type(), shape);
  dispatch_size(then.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    BroadcastCursor at(condition.shape(), shape), then_at(then.shape(), shape),
        otherwise_at(otherwise.shape(), shape);
    const uint8_t* test = elements_as<uint8_t>(condition);
    const T* a = elements_as<T>(then);
    const T* b = elements_as<T>(otherwise);
    T* out = elements_as<T>(y);
    for (int64_t i = 0; i < y.count(); ++i) {
      out[i] = test[at.offset()] != 0 ? a[then_at.offset()] : b[otherwise_at.offset()];
      at.advance();
      then_at.advance();
      otherwise_at.advance();
    }
  });
  return {y};
}

}  // namespace

std::vector<KernelDefinition> selection_kernels() {
  return {{"Where", lower_where, plain_where, Handling::Moved}};
}

}  // namespace opsmith::kernels
