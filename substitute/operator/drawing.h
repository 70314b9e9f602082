#pragma once

#include <string>

#include "substitute/operator/value_graph.h"

namespace opsmith::substitute {

/// The operator as a Graphviz graph ("dot -Tsvg"): its tensors with their shapes, what makes each
/// of another, and the coordinates of every region, from the output's at the top to those that
/// index the tensors.
std::string draw(const ValueGraph& graph);

}  // namespace opsmith::substitute
