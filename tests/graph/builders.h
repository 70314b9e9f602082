#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/graph.h"

namespace opsmith::testing {

using Attributes = std::map<std::string, graph::Attribute>;

/// An empty model of an opset.
inline graph::Model model_of(int64_t opset) {
  graph::Model model;
  model.opsets = {{"", opset}};
  return model;
}

inline graph::Dimension symbol(const std::string& name) { return graph::Dimension::named(name); }

inline graph::ValueId add_input(graph::Graph& graph, const std::string& name,
                                graph::SymbolicShape shape,
                                ElementType type = ElementType::Float32) {
  graph::Value value;
  value.name = name;
  value.type = type;
  value.shape = std::move(shape);
  graph.inputs.push_back(graph.add_value(std::move(value)));
  return graph.inputs.back();
}

/// Makes `id` the graph output `name`.
inline void set_output(graph::Graph& graph, graph::ValueId id, const std::string& name) {
  graph.value(id).name = name;
  graph.outputs.push_back(id);
}

inline graph::ValueId add_integers(graph::Graph& graph, const std::vector<int64_t>& values) {
  return graph.add_constant("integers",
                            Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
}

inline std::vector<std::string> node_types(const graph::Graph& graph) {
  std::vector<std::string> types;
  for (const graph::Node& node : graph.nodes) types.push_back(node.type);
  return types;
}

}  // namespace opsmith::testing
