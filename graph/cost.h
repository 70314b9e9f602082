#pragma once

#include <cstdint>
#include <optional>

#include "graph/graph.h"

namespace opsmith::graph {

/// What a node costs: multiply-accumulates of convolutions and matrix products (other work counts
/// as none) and elements of the constant tensors of reals that it reads.
struct Cost {
  int64_t macs = 0;
  int64_t parameters = 0;
};

/// Cost of a node with the shapes that are inferred for its values. A node of a function costs
/// what its body does; an If what its dearer branch does. nullopt where a shape that decides is
/// not known (fix the input shapes first) and for a loop.
std::optional<Cost> cost_of(const Model& model, const Graph& graph, const Node& node);

/// Cost of all nodes, with weights that several nodes share counted once; nullopt where that of a
/// node is not known.
std::optional<Cost> cost_of(const Model& model);

}  // namespace opsmith::graph
