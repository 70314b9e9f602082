#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "substitute/operator/candidate.h"
#include "substitute/targets/target.h"

namespace opsmith::substitute {

/// Puts an operator in a target's place: one node of domain "opsmith" that calls a function made
/// of standard operators, with the attribute `program`, the weights (in the order of the program)
/// and a bias of one number per output channel as constants. Nodes with the same body share a
/// function. The node keeps its name and its place, so other targets stay valid; the values that it
/// no longer reads stay in the graph until the next `compact`. Imports the domain and raises the IR
/// version to 8. Throws Unsupported when the operator has no function in the model's opset.
void replace_target(graph::Model& model, const Target& target, const Candidate& candidate,
                    const std::vector<Tensor>& weights, const Tensor& bias);

}  // namespace opsmith::substitute
