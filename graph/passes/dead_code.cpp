#include <unordered_set>

#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace opsmith::graph {

// before:  x -> Relu -> unused,  x -> Conv -> output
// after:   x -> Conv -> output
//
// Operators of ONNX have no effects beside their outputs, so that what no output needs can go.
int remove_dead_code(Model& model, const PassContext&) {
  return for_each_graph(model, [](Graph& graph) {
    std::vector<char> used(graph.value_count(), 0);
    std::unordered_set<std::string> captured;
    for (const ValueId id : graph.outputs) used[static_cast<size_t>(id)] = 1;
    std::vector<char> dead(graph.nodes.size(), 0);
    int changes = 0;
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      const Node& node = graph.nodes[i];
      bool needed = false;
      for (const ValueId id : node.outputs) {
        needed = needed || (id != kNoValue && (used[static_cast<size_t>(id)] ||
                                               captured.count(graph.value(id).name)));
      }
      if (!needed) {
        dead[i] = 1;
        ++changes;
        continue;
      }
      for (const ValueId id : node.inputs) {
        if (id != kNoValue) used[static_cast<size_t>(id)] = 1;
      }
      for_each_subgraph(node, [&](const Graph& body) {
        for (const std::string& name : body.captures()) captured.insert(name);
      });
    }
    erase_nodes(graph, dead);
    return changes;
  });
}

}  // namespace opsmith::graph
