#include "graph/operators/families.h"

namespace opsmith::graph {
namespace {

void infer_same(Inference& inference) {
  inference.set(0, inference.type(0), inference.info(0).shape);
}

/// Picks elements of a followed tensor of rank 1.
void pick(Inference& inference) {
  const Elements* data = inference.elements(0);
  const auto indices = inference.numbers(1);
  if (!data || !indices || !inference.shape(0) || inference.shape(0)->size() != 1) return;
  const auto size = static_cast<int64_t>(data->size());
  Elements picked;
  for (const int64_t index : *indices) {
    if (index < -size || index >= size) {
      inference.fail("index " + std::to_string(index) + " is outside a tensor of " +
                     std::to_string(size) + " elements");
    }
    picked.push_back((*data)[static_cast<size_t>(index < 0 ? index + size : index)]);
  }
  inference.set_elements(0, std::move(picked));
}

void infer_gather(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* data = inference.shape(0);
  const SymbolicShape* indices = inference.shape(1);
  if (!data || !indices) return;
  const size_t axis = inference.axis(inference.node().integer("axis", 0), data->size());
  const auto at = data->begin() + static_cast<std::ptrdiff_t>(axis);
  SymbolicShape y(data->begin(), at);
  y.insert(y.end(), indices->begin(), indices->end());
  y.insert(y.end(), at + 1, data->end());
  inference.set_shape(0, std::move(y));
  pick(inference);
}

void infer_gather_elements(Inference& inference) {
  inference.set(0, inference.type(0), inference.info(1).shape);
}

void infer_gather_nd(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* data = inference.shape(0);
  const SymbolicShape* indices = inference.shape(1);
  if (!data || !indices || indices->empty() || !indices->back().known()) return;
  const int64_t batch = inference.node().integer("batch_dims", 0);
  const int64_t depth = *indices->back().size;
  if (batch < 0 || depth < 0 || depth > static_cast<int64_t>(data->size()) - batch) {
    inference.fail("its indices of shape " + to_string(*indices) + " reach too deep into " +
                   to_string(*data));
  }
  SymbolicShape y(indices->begin(), indices->end() - 1);
  y.insert(y.end(), data->begin() + batch + depth, data->end());
  inference.set_shape(0, std::move(y));
}

void infer_one_hot(Inference& inference) {
  inference.set_type(0, inference.type(2));
  const SymbolicShape* indices = inference.shape(0);
  if (!indices) return;
  const Elements* depth = inference.elements(1);
  SymbolicShape y = *indices;
  const size_t axis = inference.axis(inference.node().integer("axis", -1), y.size() + 1);
  y.insert(y.begin() + static_cast<std::ptrdiff_t>(axis),
           depth && depth->size() == 1 ? (*depth)[0] : Dimension());
  inference.set_shape(0, std::move(y));
}

void infer_top_k(Inference& inference) {
  inference.set_type(0, inference.type(0));
  inference.set_type(1, ElementType::Int64);
  const SymbolicShape* x = inference.shape(0);
  if (!x) return;
  const size_t axis = inference.axis(inference.node().integer("axis", -1), x->size());
  SymbolicShape y = *x;
  y[axis] = Dimension();
  if (inference.opset() < 10) {
    y[axis] = inference.node().integer("k", 1);
  } else if (const Elements* k = inference.elements(1); k && k->size() == 1) {
    y[axis] = (*k)[0];
  }
  inference.set_shape(1, y);
  inference.set_shape(0, std::move(y));
}

/// How many there are is only known of a tensor that is filled with one number.
void infer_non_zero(Inference& inference) {
  const SymbolicShape* x = inference.shape(0);
  const std::optional<double>& fill = inference.info(0).fill;
  Dimension found;
  if (fill && *fill == 0) found = 0;
  if (fill && *fill != 0 && x) found = product(*x, 0, x->size());
  const Dimension rank = x ? Dimension(static_cast<int64_t>(x->size())) : Dimension();
  inference.set(0, ElementType::Int64, SymbolicShape{rank, found});
}

void infer_compress(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  if (!inference.node().has("axis")) return inference.set_shape(0, SymbolicShape(1));
  if (!x) return;
  SymbolicShape y = *x;
  y[inference.axis(inference.node().integer("axis", 0), y.size())] = Dimension();
  inference.set_shape(0, std::move(y));
}

void infer_unique(Inference& inference) {
  inference.set_type(0, inference.type(0));
  for (size_t i = 1; i < 4; ++i) inference.set(i, ElementType::Int64, SymbolicShape(1));
  const SymbolicShape* x = inference.shape(0);
  if (!inference.node().has("axis")) return inference.set_shape(0, SymbolicShape(1));
  if (!x) return;
  SymbolicShape y = *x;
  y[inference.axis(inference.node().integer("axis", 0), y.size())] = Dimension();
  inference.set_shape(0, std::move(y));
}

void infer_non_max_suppression(Inference& inference) {
  inference.set(0, ElementType::Int64, SymbolicShape{Dimension(), Dimension(3)});
}

/// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: scores, labels, weights.
void infer_loss(Inference& inference) {
  inference.set_type(0, inference.type(0));
  inference.set(1, inference.type(0), inference.info(0).shape);  // log-probabilities
  if (inference.node().text("reduction", "mean") != "none") {
    inference.set_shape(0, {});
  } else if (inference.shape(1)) {
    inference.set_shape(0, *inference.shape(1));
  }
}

}  // namespace

std::span<const OperatorDefinition> indexing_operators() {
  static const OperatorDefinition operators[] = {
      {"Compress", infer_compress},
      {"Gather", infer_gather},
      {"GatherElements", infer_gather_elements},
      {"GatherND", infer_gather_nd},
      {"NegativeLogLikelihoodLoss", infer_loss},
      {"NonMaxSuppression", infer_non_max_suppression},
      {"NonZero", infer_non_zero},
      {"OneHot", infer_one_hot},
      {"Scatter", infer_same},
      {"ScatterElements", infer_same},
      {"ScatterND", infer_same},
      {"SoftmaxCrossEntropyLoss", infer_loss},
      {"TopK", infer_top_k},
      {"Unique", infer_unique},
  };
  return operators;
}

}  // namespace opsmith::graph
