#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace opsmith::graph {

/// y = scale * x + shift for each output channel.
struct Affine {
  std::vector<double> scale, shift;
};

/// Output channels of a Conv, ConvTranspose or Gemm whose weight is a constant of Float32 and
/// whose bias is such a constant or absent; nullopt for any other node.
std::optional<int64_t> foldable_channels(const Graph& graph, const Node& node);

/// Puts scale and shift into constants of a node for which foldable_channels has an answer. The
/// old constants stay as they are for whoever else reads them.
void fold_into(Graph& graph, Node& node, const Affine& affine);

}  // namespace opsmith::graph
