#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace opsmith::substitute {

/// Multiply-accumulates of one node for the shapes in the graph, with a first input dimension that
/// is unknown or symbolic counted as one sample: convolutions, products and substituted operators;
/// 0 for all else and where an extent is unknown.
int64_t node_macs(const graph::Model& model, const graph::Node& node);

/// Of the whole main graph.
int64_t model_macs(const graph::Model& model);

/// Elements of all floating-point constants that nodes of the main graph read.
int64_t model_parameters(const graph::Model& model);

}  // namespace opsmith::substitute
