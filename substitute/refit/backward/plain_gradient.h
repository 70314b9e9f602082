#pragma once

#include <optional>

#include "graph/graph.h"

namespace opsmith::substitute {

/// For a node that the runtime computes without an expression: appends the nodes that turn the
/// gradients of its outputs (kNoValue where there is none) into that of its input `input`.
/// nullopt where there is no rule.
std::optional<graph::ValueId> plain_gradient(graph::Model& model, const graph::Node& node,
                                             size_t input,
                                             const std::vector<graph::ValueId>& incoming);

}  // namespace opsmith::substitute
