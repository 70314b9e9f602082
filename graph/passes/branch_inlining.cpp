#include "graph/function.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace opsmith::graph {
namespace {

/// The branch that an If always takes; nullptr where that is not known.
const Graph* taken_branch(const Graph& graph, const Node& node) {
  if (!node.is("If") || node.input(0) == kNoValue) return nullptr;
  const std::optional<double> condition = scalar_of(graph, node.input(0));
  if (!condition) return nullptr;
  const auto branch = node.attributes.find(*condition != 0 ? "then_branch" : "else_branch");
  if (branch == node.attributes.end()) return nullptr;
  const auto* body = std::get_if<std::shared_ptr<Graph>>(&branch->second);
  return body == nullptr || (*body)->outputs.size() < node.outputs.size() ? nullptr : body->get();
}

}  // namespace

// before:  true, x -> If(then: Relu(x), else: Neg(x)) -> y
// after:   x -> Relu -> y
//
// Not: a condition that is computed while running.
int inline_branches(Model& model, const PassContext&) {
  return for_each_graph(model, [](Graph& graph) {
    int changes = 0;
    std::vector<Node> before = std::move(graph.nodes);
    std::vector<Node> nodes;
    graph.nodes.clear();
    for (Node& node : before) {
      if (const Graph* branch = taken_branch(graph, node)) {
        splice_body(graph, nodes, Graph(*branch), node);
        ++changes;
      } else {
        nodes.push_back(std::move(node));
      }
    }
    graph.nodes = std::move(nodes);
    return changes;
  });
}

}  // namespace opsmith::graph
