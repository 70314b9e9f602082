#include "graph/operators/families.h"

namespace opsmith::graph {
namespace {

void infer_same(Inference& inference) {
  inference.set(0, inference.type(0), inference.info(0).shape);
}

/// An operator over an axis, which must exist.
void infer_along_axis(Inference& inference) {
  infer_same(inference);
  const int64_t usual = inference.opset() < 13 ? 1 : -1;
  const int64_t axis = inference.node().integer("axis", usual);
  const SymbolicShape* x = inference.shape(0);
  // Up to opset 12 the axis divides the tensor into a matrix and may be the rank itself.
  if (x && inference.opset() >= 13 && !x->empty()) inference.axis(axis, x->size());
}

/// X, scale, bias, mean, variance; training adds outputs of the size of scale.
void infer_batch_normalization(Inference& inference) {
  infer_same(inference);
  inference.expect_rank(0, 1, 64);
  const SymbolicShape* x = inference.shape(0);
  for (size_t i = 1; i < 5; ++i) {
    const SymbolicShape* statistic = inference.shape(i);
    if (x && x->size() > 1 && statistic && statistic->size() == 1 &&
        !unify((*statistic)[0], (*x)[1])) {
      inference.fail("input " + std::to_string(i) + " of shape " + to_string(*statistic) +
                     " does not fit the channels of " + to_string(*x));
    }
    inference.set(i, inference.type(3), inference.info(1).shape);
  }
}

void infer_layer_normalization(Inference& inference) {
  infer_same(inference);
  inference.set_type(1, ElementType::Float32);
  inference.set_type(2, ElementType::Float32);
  const SymbolicShape* x = inference.shape(0);
  if (!x || x->empty()) return;
  SymbolicShape statistics = *x;
  const size_t first = inference.axis(inference.node().integer("axis", -1), x->size());
  for (size_t i = first; i < statistics.size(); ++i) statistics[i] = 1;
  inference.set_shape(1, statistics);
  inference.set_shape(2, statistics);
}

void infer_dropout(Inference& inference) {
  infer_same(inference);
  const ElementType mask = inference.opset() >= 10 ? ElementType::Bool : inference.type(0);
  inference.set(1, mask, inference.info(0).shape);
}

}  // namespace

std::span<const OperatorDefinition> normalization_operators() {
  static const OperatorDefinition operators[] = {
      {"BatchNormalization", infer_batch_normalization},
      {"Dropout", infer_dropout},
      {"GroupNormalization", infer_same},
      {"Hardmax", infer_along_axis},
      {"InstanceNormalization", infer_same},
      {"LRN", infer_same},
      {"LayerNormalization", infer_layer_normalization},
      {"LogSoftmax", infer_along_axis},
      {"LpNormalization", infer_same},
      {"MeanVarianceNormalization", infer_same},
      {"RMSNormalization", infer_same},
      {"Softmax", infer_along_axis},
  };
  return operators;
}

}  // namespace opsmith::graph
