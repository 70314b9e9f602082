#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace opsmith::graph {

/// Evaluates one node on constant inputs; constant folding needs it, the runtime implements it.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  /// Whether `evaluate` knows this operator at this opset.
  virtual bool supports(const Node& node, const Model& model) const = 0;

  /// Outputs of the node; inputs that are absent are undefined tensors.
  virtual std::vector<Tensor> evaluate(const Node& node, const Model& model,
                                       std::span<const Tensor> inputs) const = 0;
};

}  // namespace opsmith::graph
