#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "substitute/operator/candidate.h"
#include "substitute/refit/least_squares.h"

namespace opsmith::substitute {

/// A convolution or matrix product of the model's main graph and whether an operator can stand in
/// its place.
struct Target {
  int32_t node = -1;  ///< index in the graph's nodes
  std::string name;   ///< of the node, of its output where it has none
  std::string type;   ///< "Conv", "ConvTranspose", "Gemm" or "MatMul"
  LayerShape shape;
  int64_t rows = 1;        ///< of a product: the rows of its input for one sample; 1 if unknown
  int64_t macs = 0;        ///< for one sample; 0 where an extent is unknown
  int64_t parameters = 0;  ///< weight and bias elements
  std::string reason;      ///< why nothing can stand in its place; empty: something can

  bool replaceable() const { return reason.empty(); }
  graph::ValueId input(const graph::Graph& graph) const;
  graph::ValueId output(const graph::Graph& graph) const;
};

/// All of them, in the order of the nodes. `exclude` holds names of nodes that shall be left
/// alone; throws UserError when one of them is not a target's.
std::vector<Target> find_targets(const graph::Model& model,
                                 const std::vector<std::string>& exclude = {});

/// The map that a replaceable target computes, over its own window.
LinearMap original_map(const graph::Graph& graph, const Target& target);

/// Gives a replaceable target other weights: its node then computes `map`, which is over the
/// target's own window. A product without a bias keeps none: returns false and changes nothing
/// when the map needs one.
bool set_map(graph::Graph& graph, const Target& target, const LinearMap& map);

}  // namespace opsmith::substitute
