#pragma once

#include <map>
#include <vector>

#include "graph/graph.h"

namespace opsmith::substitute {

/// Values by the value that they are the gradient of.
using Gradients = std::map<graph::ValueId, graph::ValueId>;

/// Appends nodes to a model that compute the gradient, with respect to each of `wanted`, of a
/// number whose gradient with respect to some values is given (`seeds`). Every expression is
/// differentiated stage by stage (runtime/expression/differentiation.h), so nodes of several stages
/// must have been split (split_into_stages); views, transpositions, concatenations and selections
/// have rules of their own. All shapes must be concrete. A wanted value that no seed depends on is
/// missing in the answer. Throws Unsupported naming a node on the way that has no derivative.
Gradients append_backward(graph::Model& model, const Gradients& seeds,
                          const std::vector<graph::ValueId>& wanted);

}  // namespace opsmith::substitute
