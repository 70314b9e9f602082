#pragma once

#include "graph/graph.h"

namespace opsmith::graph {

/// Throws UserError naming the node where an operator of ONNX's own domain lacks an input that it
/// needs in every version: what infers, rewrites and runs nodes may then rely on it.
void check_required_inputs(const Node& node);

}  // namespace opsmith::graph
