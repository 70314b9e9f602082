#pragma once

#include "graph/graph.h"

namespace opsmith::executor {

/// Makes every node that computes on half types (f16, bf16) compute in f32: what it reads is cast
/// before it, what it makes is rounded back behind it, constants are cast at once. Nodes that only
/// move elements stay. Needs inferred types. Returns how many nodes changed.
int widen_half_types(graph::Graph& graph);

}  // namespace opsmith::executor
