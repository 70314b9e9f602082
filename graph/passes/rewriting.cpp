#include "graph/passes/rewriting.h"

#include <algorithm>
#include <array>

namespace opsmith::graph {
namespace {

int visit_graph(Graph& graph, const std::function<int(Graph&)>& visit) {
  int changes = 0;
  for (Node& node : graph.nodes) {
    if (!has_subgraphs(node)) continue;
    for_each_subgraph(node, [&](Graph& body) { changes += visit_graph(body, visit); });
  }
  return changes + visit(graph);
}

}  // namespace

int for_each_graph(Model& model, const std::function<int(Graph&)>& visit) {
  return visit_graph(model.graph, visit);
}

void erase_nodes(Graph& graph, const std::vector<char>& dead) {
  std::vector<Node> kept;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (i >= dead.size() || !dead[i]) kept.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(kept);
}

int32_t only_reader(const Graph& graph, const std::vector<std::vector<int32_t>>& consumers,
                    ValueId id) {
  const std::vector<int32_t>& readers = consumers.at(static_cast<size_t>(id));
  if (readers.size() != 1 || graph.is_output(id)) return -1;
  const Node& reader = graph.nodes[static_cast<size_t>(readers[0])];
  return std::count(reader.inputs.begin(), reader.inputs.end(), id) == 1 ? readers[0] : -1;
}

bool redirect(Graph& graph, ValueId from, ValueId to) {
  const bool fixed = graph.is_input(to) || graph.is_output(to) || graph.value(to).captured;
  if (graph.is_output(from) && fixed) return false;
  Value& target = graph.value(to);
  const Value& source = graph.value(from);
  if (target.type == ElementType::Undefined) target.type = source.type;
  if (!target.shape) target.shape = source.shape;
  return graph.replace_uses(from, to);
}

std::optional<double> scalar_of(const Graph& graph, ValueId id) {
  const Tensor* tensor = graph.constant(id);
  if (!tensor || tensor->count() != 1 || !is_plain_data(tensor->type())) return std::nullopt;
  return tensor->cast(ElementType::Float64).data<double>()[0];
}

bool is_random(const Node& node) {
  static const std::array kRandom = {
      "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
      "Multinomial",  "Bernoulli",        "Dropout"};
  return node.domain.empty() &&
         std::find(kRandom.begin(), kRandom.end(), node.type) != kRandom.end();
}

}  // namespace opsmith::graph
