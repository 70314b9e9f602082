#pragma once

#include <functional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace opsmith::executor {

/// Whether evaluate_node knows the operator.
bool can_evaluate(const graph::Node& node);

/// Computes one node on row-major tensors with its plain kernel or, where it is an expression,
/// with the interpreter. Absent inputs are undefined tensors; no outputs beyond the node's.
/// Throws Unsupported naming the node. Nodes with subgraphs are not among them (see reference.h).
std::vector<Tensor> evaluate_node(const graph::Node& node, const graph::Model& model,
                                  std::span<const Tensor> inputs);

/// Where output i is to be written; returns an undefined tensor to decline.
using Placement = std::function<Tensor(size_t, ElementType, const Shape&)>;

/// The same with the plain kernel alone, which may write where `place` says.
std::vector<Tensor> evaluate_plain(const graph::Node& node, const graph::Model& model,
                                   std::span<const Tensor> inputs, const Placement& place);

}  // namespace opsmith::executor
