#pragma once

#include "graph/graph.h"

namespace opsmith::graph {

/// The body of `function` as the node `call` means it: references to attributes of the call are
/// replaced by what the call gives, else by the default, else dropped.
Graph instantiate_body(const Function& function, const Node& call);

/// Appends the nodes of `body`, which stands for the node `call`, to `nodes`, and its values to
/// `graph`. Inputs and outputs become those of the call, captured values those of the graph; all
/// others get fresh names that begin with the name of the call.
void splice_body(Graph& graph, std::vector<Node>& nodes, const Graph& body, const Node& call);

/// Puts the bodies of all functions of the model in place of the nodes that call them, in
/// subgraphs too. Values keep the names of the calling graph; values inside a body get fresh names
/// that begin with the name of the calling node. Drops the functions. Nodes of a body written for
/// another version of ONNX's operators, in which they mean something else, keep that version
/// (Node::opset). Throws Unsupported where the versions of another domain differ. Returns the
/// number of nodes replaced.
int inline_functions(Model& model);

/// Throws UserError naming a function that calls itself, directly or through others.
void check_no_recursion(const Model& model);

}  // namespace opsmith::graph
