#include <algorithm>

#include "substitute/operator/onnx/stage.h"

namespace opsmith::substitute::onnx {

using expression::Stage;

/// stage z[m, o] = sum(k) x[m, k] * w[k, o] (or w[o, k]) as one MatMul, which lets x have any
/// number of leading dimensions.
bool emit_product(const Stage& stage, StageContext& context) {
  const auto contraction = as_contraction(stage, context.program);
  if (!contraction || stage.axes.size() != 2 || stage.reduction_axes.size() != 1) return false;
  const std::vector<Index>& read = contraction->data.indices();
  const std::string &rows = stage.axes[0].name, &columns = stage.axes[1].name,
                    &inner = stage.reduction_axes[0].name;
  const auto is = [](const Index& index, const std::string& name) {
    return index.kind() == Index::Kind::Iterator && index.name() == name;
  };
  const std::vector<Index> extents = context.program.shape_of(contraction->data.tensor());
  if (read.size() != 2 || !is(read[0], rows) || !is(read[1], inner) ||
      !(extents[0] == stage.axes[0].extent) || !(extents[1] == stage.reduction_axes[0].extent))
    return false;
  const auto weight =
      weight_by_iterators(contraction->weight, {inner, columns},
                          {stage.reduction_axes[0].extent, stage.axes[1].extent}, stage, context);
  if (!weight) return false;
  Body& body = context.body;
  Value result = body.matrix_product(context.tensors.whole(contraction->data.tensor()), *weight);
  if (context.bias) result = body.binary("Add", result, {*context.bias, result.shape});
  context.tensors.add(stage.name, result);
  return true;
}

}  // namespace opsmith::substitute::onnx
