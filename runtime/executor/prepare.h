#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace opsmith::executor {

/// What is done to a model once per session: functions without program are inlined, the values
/// named in `keep` become outputs, graph passes run with constant folding, batch normalisations
/// that stayed become a multiplication and an addition. Throws UserError on an unknown name.
graph::Model prepare_model(graph::Model model, const std::vector<std::string>& keep);

/// The prepared model with these input shapes: shapes inferred, and everything folded that became
/// constant with them (shape arithmetic).
graph::Model fix_shapes(const graph::Model& prepared, const std::map<std::string, Shape>& shapes);

/// BatchNormalization with constant parameters becomes Mul and Add with one number per channel.
/// Returns how many.
int split_batch_normalizations(graph::Graph& graph);

}  // namespace opsmith::executor
