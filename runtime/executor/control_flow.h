#pragma once

#include <functional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace opsmith::executor {

/// Runs a body of a node on its inputs and returns its outputs.
using RunBody =
    std::function<std::vector<Tensor>(const graph::Graph& body, const std::vector<Tensor>& inputs)>;

/// Whether the node is an If, Loop, Scan or SequenceMap.
bool is_control_flow(const graph::Node& node);

/// Runs such a node. `opset` is the version of the operators that it is written for.
std::vector<Tensor> run_control_flow(const graph::Node& node, int64_t opset,
                                     std::span<const Tensor> inputs, const RunBody& run_body);

}  // namespace opsmith::executor
