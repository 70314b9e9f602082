#pragma once

#include "graph/graph.h"

namespace opsmith::graph {

/// Throws InternalError naming the first fault in the form of a model: a value with two sources
/// or none, a name given twice, a node before what it reads, a capture of nothing. What passes
/// and builders leave behind must pass.
void validate(const Model& model);

}  // namespace opsmith::graph
