#pragma once

#include "graph/graph.h"

namespace opsmith::executor {

/// Inlines the functions of the model, except that nodes of domain "opsmith" with an attribute
/// `program` stay: they run as that program.
void inline_functions_without_program(graph::Model& model);

}  // namespace opsmith::executor
