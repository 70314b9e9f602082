#pragma once

#include "graph/graph.h"

namespace opsmith::graph {

/// Throws UserError naming the node where an operator of ONNX's own domain lacks an input that it
/// needs in every version, or has more outputs than any version makes: what infers, rewrites and
/// runs nodes may then rely on it.
void check_arity(const Node& node);

}  // namespace opsmith::graph
