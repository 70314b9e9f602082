#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace opsmith::search {

/// The part of a model that computes the named values from its inputs.
graph::Model extract_before(const graph::Model& model, const std::vector<std::string>& outputs);

/// The part that computes the model's outputs from a value: everything that depends on it. What it
/// needs beside that value and constants becomes an input of its own; the inputs' names are those
/// of the values. Outputs of the model that do not depend on the value are left out.
graph::Model extract_after(const graph::Model& model, const std::string& value);

/// Names of the inputs of an extracted model.
std::vector<std::string> input_names(const graph::Model& model);
std::vector<std::string> output_names(const graph::Model& model);

/// Whether one value is computed from another.
bool depends_on(const graph::Graph& graph, graph::ValueId value, graph::ValueId source);

}  // namespace opsmith::search
