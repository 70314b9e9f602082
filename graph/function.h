#pragma once

#include "graph/graph.h"

namespace opsmith::graph {

/// The body of `function` as the node `call` means it: references to attributes of the call are
/// replaced by what the call gives, else by the default, else dropped.
Graph instantiate_body(const Function& function, const Node& call);

/// Puts the bodies of all functions of the model in place of the nodes that call them, in
/// subgraphs too. Values keep the names of the calling graph; values inside a body get fresh names
/// that begin with the name of the calling node. Drops the functions. Returns the number of nodes
/// replaced.
int inline_functions(Model& model);

/// Throws UserError naming a function that calls itself, directly or through others.
void check_no_recursion(const Model& model);

}  // namespace opsmith::graph
