#include "runtime/kernels/plain/dropout.h"

#include <algorithm>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/draw.h"
#include "runtime/kernels/plain/reals.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

// Kept elements are scaled by 1 / (1 - ratio); the mask is false at dropped ones. The mask had the
// type of the input before operator set 10.
std::vector<Tensor> dropout(const PlainCall& call) {
  const Tensor& x = call.input(0);
  double ratio = call.node.real("ratio", 0.5F);
  if (call.opset() >= 12) ratio = call.has(1) ? to_reals(call.input(1)).at(0) : 0.5;
  const bool training = call.opset() < 12 ? trains_dropout(call.node, call.opset(), nullptr)
                                          : trains_dropout(call.node, call.opset(),
                                                           call.has(2) ? &call.input(2) : nullptr);
  if (training && !(ratio >= 0 && ratio < 1)) {
    throw UserError(describe(call.node) + ": ratio " + std::to_string(ratio));
  }
  std::vector<double> kept(static_cast<size_t>(x.count()), 1);
  std::vector<Tensor> outputs = {x};
  if (training && ratio > 0) {
    Random random = random_of(call.node);
    std::vector<double> values = to_reals(x);
    for (size_t i = 0; i < values.size(); ++i) {
      kept[i] = random.uniform() < ratio ? 0 : 1;
      values[i] *= kept[i] / (1 - ratio);
    }
    outputs[0] = from_reals(call, 0, x.type(), x.shape(), values);
  }
  if (call.node.output(1) != graph::kNoValue) {
    const ElementType type = call.opset() < 10 ? x.type() : ElementType::Bool;
    outputs.push_back(from_reals(call, 1, type, x.shape(), kept));
  }
  return outputs;
}

}  // namespace

bool trains_dropout(const graph::Node& node, int64_t opset, const Tensor* training_mode) {
  if (opset < 7) return node.integer("is_test", 0) == 0;
  if (opset < 12 || training_mode == nullptr || training_mode->count() == 0) return false;
  return to_integers(*training_mode, node)[0] != 0;
}

std::vector<KernelDefinition> dropout_kernels() { return {{"Dropout", nullptr, dropout}}; }

}  // namespace opsmith::kernels
