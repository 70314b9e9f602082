#include "graph/operators/families.h"

namespace opsmith::graph {
namespace {

/// Shape after reducing `axes` (nullopt: it is not known which).
void set_reduced(Inference& inference, const std::optional<std::vector<int64_t>>& axes, bool keep) {
  const SymbolicShape* x = inference.shape(0);
  if (!x) return;
  if (!axes) {
    if (keep) inference.set_shape(0, SymbolicShape(x->size()));
    return;
  }
  std::vector<char> reduced(x->size(), 0);
  for (const int64_t a : *axes) reduced[inference.axis(a, x->size())] = 1;
  SymbolicShape y;
  for (size_t i = 0; i < x->size(); ++i) {
    if (!reduced[i]) {
      y.push_back((*x)[i]);
    } else if (keep) {
      y.emplace_back(1);
    }
  }
  inference.set_shape(0, std::move(y));
}

void infer_reduction(Inference& inference, int64_t axes_are_input_since) {
  inference.set_type(0, inference.type(0));
  const bool keep = inference.node().integer("keepdims", 1) != 0;
  Inference::Setting axes = inference.attribute_or_input("axes", axes_are_input_since, 1);
  const bool none = !axes.given || (axes.values && axes.values->empty());
  if (none && inference.node().integer("noop_with_empty_axes", 0) != 0) {
    if (inference.shape(0)) inference.set_shape(0, *inference.shape(0));
    return;
  }
  if (none) {
    axes.values.emplace();
    const size_t rank = inference.shape(0) ? inference.shape(0)->size() : 0;
    for (size_t i = 0; i < rank; ++i) axes.values->push_back(static_cast<int64_t>(i));
  }
  set_reduced(inference, axes.values, keep);
}

void infer_reduce(Inference& inference) { infer_reduction(inference, 18); }

void infer_reduce_sum(Inference& inference) { infer_reduction(inference, 13); }

/// The product of a shape's entries is followed: the number of elements.
void infer_reduce_product(Inference& inference) {
  infer_reduction(inference, 18);
  const Elements* elements = inference.elements(0);
  if (elements && inference.shape(0) && inference.shape(0)->size() == 1) {
    inference.set_elements(0, {product(*elements, 0, elements->size())});
  }
}

void infer_arg(Inference& inference) {
  inference.set_type(0, ElementType::Int64);
  const bool keep = inference.node().integer("keepdims", 1) != 0;
  set_reduced(inference, std::vector<int64_t>{inference.node().integer("axis", 0)}, keep);
}

}  // namespace

std::span<const OperatorDefinition> reduction_operators() {
  static const OperatorDefinition operators[] = {
      {"ArgMax", infer_arg},           {"ArgMin", infer_arg},
      {"ReduceL1", infer_reduce},      {"ReduceL2", infer_reduce},
      {"ReduceLogSum", infer_reduce},  {"ReduceLogSumExp", infer_reduce},
      {"ReduceMax", infer_reduce},     {"ReduceMean", infer_reduce},
      {"ReduceMin", infer_reduce},     {"ReduceProd", infer_reduce_product},
      {"ReduceSum", infer_reduce_sum}, {"ReduceSumSquare", infer_reduce},
  };
  return operators;
}

}  // namespace opsmith::graph
