#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace opsmith::executor {

/// Runs a whole model node by node, row-major, with plain kernels and the interpreter: the oracle
/// of tests on whole models. Nothing is fused, compiled or planned. Runs If and Loop. Returns the
/// graph outputs and the values named in `keep`. Throws UserError naming a missing input,
/// Unsupported naming a node without kernel.
std::map<std::string, Tensor> run_reference(const graph::Model& model,
                                            const std::map<std::string, Tensor>& inputs,
                                            const std::vector<std::string>& keep = {});

/// Whether the node is an If or a Loop.
bool is_control_flow(const graph::Node& node);

/// Runs an If or a Loop the same way. `environment` holds what its subgraphs capture, by name.
std::vector<Tensor> run_control_flow(const graph::Node& node, const graph::Model& model,
                                     std::span<const Tensor> inputs,
                                     const std::map<std::string, Tensor>& environment);

}  // namespace opsmith::executor
