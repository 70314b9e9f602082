#pragma once

#include <string>

#include "graph/graph.h"

namespace opsmith::graph {

/// What the first difference in meaning between two models is, in a line; empty where there is
/// none. Compares inputs, outputs, nodes in order, attributes, constants bit by bit, subgraphs,
/// functions, operator sets and metadata, all by name; not the numbering of values.
std::string difference(const Model& a, const Model& b);

}  // namespace opsmith::graph
