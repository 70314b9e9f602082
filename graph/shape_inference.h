#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace opsmith::graph {

/// Fills types and shapes of all values as far as they can be told; what is declared stays where
/// nothing better is known. Follows small integer tensors through Shape/Gather/Concat/Reshape
/// chains. Unknown operators leave unknown shapes. Throws UserError naming the node when shapes
/// contradict.
void infer_shapes(Model& model);

/// The body of the function that `node` of `graph` calls, with the shapes that its values have
/// there. Throws InternalError where the node calls no function of the model.
Graph inferred_body(const Model& model, const Graph& graph, const Node& node);

/// For each value of the main graph the elements that are known of it, where all are: of integer
/// tensors of rank 0 or 1 that follow from shapes and constants alone. Infers shapes on the way.
std::vector<std::optional<Tensor>> infer_known_tensors(Model& model);

/// Fixes the shapes of graph inputs ("x" to 1x3x224x224) and infers again. Throws UserError when
/// an input does not exist or a fixed dimension contradicts.
void fix_input_shapes(Model& model, const std::map<std::string, Shape>& shapes);

}  // namespace opsmith::graph
