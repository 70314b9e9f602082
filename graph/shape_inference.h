#pragma once

#include <map>
#include <string>

#include "graph/graph.h"

namespace opsmith::graph {

/// Fills types and shapes of all values as far as they can be told; what is declared stays where
/// nothing better is known. Follows small integer tensors through Shape/Gather/Concat/Reshape
/// chains. Unknown operators leave unknown shapes. Throws UserError naming the node when shapes
/// contradict.
void infer_shapes(Model& model);

/// Fixes the shapes of graph inputs ("x" to 1x3x224x224) and infers again. Throws UserError when
/// an input does not exist or a fixed dimension contradicts.
void fix_input_shapes(Model& model, const std::map<std::string, Shape>& shapes);

}  // namespace opsmith::graph
