#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace opsmith::executor {

/// Runs a whole model node by node, row-major, with plain kernels and the interpreter: the oracle
/// of tests on whole models. Nothing is fused, compiled or planned. Returns the
/// graph outputs and the values named in `keep`. Throws UserError naming a missing input,
/// Unsupported naming a node without kernel.
std::map<std::string, Tensor> run_reference(const graph::Model& model,
                                            const std::map<std::string, Tensor>& inputs,
                                            const std::vector<std::string>& keep = {});

/// Runs an If, Loop, Scan or SequenceMap the same way. `captured` holds what its bodies take from
/// the graph around them, by name.
std::vector<Tensor> evaluate_control_flow(const graph::Node& node, const graph::Model& model,
                                          std::span<const Tensor> inputs,
                                          const std::map<std::string, Tensor>& captured);

}  // namespace opsmith::executor
