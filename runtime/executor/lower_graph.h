#pragma once

#include "graph/graph.h"
#include "runtime/executor/operation.h"

namespace opsmith::executor {

/// Turns the nodes of a model whose inputs have concrete shapes into operations: expressions where
/// a lowering takes the node, views where only the shape changes, plain kernels else. What depends
/// on a shape that is not known becomes Dynamic. Throws Unsupported naming a node that has no
/// kernel.
OperationList lower_graph(const graph::Model& model);

}  // namespace opsmith::executor
