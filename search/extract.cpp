#include "search/extract.h"

#include <algorithm>
#include <set>

#include "support/error.h"

namespace opsmith::search {

namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

/// What a node reads, its subgraphs included.
std::vector<ValueId> reads(const Graph& graph, const Node& node) {
  std::vector<ValueId> result;
  for (const ValueId id : node.inputs) {
    if (id != graph::kNoValue) result.push_back(id);
  }
  graph::for_each_subgraph(node, [&](const Graph& subgraph) {
    for (const std::string& name : subgraph.captures()) {
      if (const auto id = graph.find(name)) result.push_back(*id);
    }
  });
  return result;
}

ValueId find_value(const Graph& graph, const std::string& name) {
  const auto id = graph.find(name);
  require(id.has_value(), "there is no value '" + name + "'");
  return *id;
}

/// For each node whether it depends on a value.
std::vector<bool> dependents(const Graph& graph, ValueId source) {
  std::vector<bool> reached(graph.value_count());
  reached[static_cast<size_t>(source)] = true;
  std::vector<bool> nodes;
  for (const Node& node : graph.nodes) {
    const std::vector<ValueId> inputs = reads(graph, node);
    const bool depends = std::any_of(inputs.begin(), inputs.end(),
                                     [&](ValueId id) { return reached[static_cast<size_t>(id)]; });
    nodes.push_back(depends);
    if (!depends) continue;
    for (const ValueId id : node.outputs) {
      if (id != graph::kNoValue) reached[static_cast<size_t>(id)] = true;
    }
  }
  return nodes;
}

}  // namespace

graph::Model extract_before(const graph::Model& model, const std::vector<std::string>& outputs) {
  graph::Model part = model;
  Graph& graph = part.graph;
  std::vector<bool> needed(graph.value_count());
  graph.outputs.clear();
  for (const std::string& name : outputs) {
    graph.outputs.push_back(find_value(graph, name));
    needed[static_cast<size_t>(graph.outputs.back())] = true;
  }
  std::vector<Node> nodes;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    const bool used = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id != graph::kNoValue && needed[static_cast<size_t>(id)];
    });
    if (!used) continue;
    for (const ValueId id : reads(graph, node)) needed[static_cast<size_t>(id)] = true;
    nodes.push_back(std::move(node));
  }
  std::reverse(nodes.begin(), nodes.end());
  graph.nodes = std::move(nodes);
  graph.compact();
  return part;
}

graph::Model extract_after(const graph::Model& model, const std::string& value) {
  graph::Model part = model;
  Graph& graph = part.graph;
  const ValueId source = find_value(graph, value);
  const std::vector<bool> keep = dependents(graph, source);
  std::vector<Node> nodes;
  std::set<ValueId> made;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!keep[i]) continue;
    made.insert(graph.nodes[i].outputs.begin(), graph.nodes[i].outputs.end());
    nodes.push_back(graph.nodes[i]);
  }
  std::vector<ValueId> inputs = {source};
  for (const Node& node : nodes) {
    for (const ValueId id : reads(graph, node)) {
      if (made.contains(id) || graph.constant(id) != nullptr) continue;
      if (std::find(inputs.begin(), inputs.end(), id) == inputs.end()) inputs.push_back(id);
    }
  }
  std::erase_if(graph.outputs, [&](ValueId id) { return id != source && !made.contains(id); });
  graph.inputs = std::move(inputs);
  graph.nodes = std::move(nodes);
  graph.compact();
  return part;
}

std::vector<std::string> input_names(const graph::Model& model) {
  std::vector<std::string> names;
  for (const ValueId id : model.graph.inputs) names.push_back(model.graph.value(id).name);
  return names;
}

std::vector<std::string> output_names(const graph::Model& model) {
  std::vector<std::string> names;
  for (const ValueId id : model.graph.outputs) names.push_back(model.graph.value(id).name);
  return names;
}

bool depends_on(const Graph& graph, ValueId value, ValueId source) {
  if (value == source) return true;
  const std::vector<bool> nodes = dependents(graph, source);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<ValueId>& outputs = graph.nodes[i].outputs;
    if (nodes[i] && std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return true;
  }
  return false;
}

}  // namespace opsmith::search
