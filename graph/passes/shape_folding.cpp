#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"
#include "graph/shape_inference.h"

namespace opsmith::graph {

// before:  x [N, 8, 4, 4] -> Shape -> Gather(1) -> Concat -> ...
// after:   constant 8 -> Concat -> ...
//
// Only integers that hold for every input: what depends on a symbol stays computed.
int fold_shapes(Model& model, const PassContext&) {
  const std::vector<std::optional<Tensor>> known = infer_known_tensors(model);
  Graph& graph = model.graph;
  std::vector<char> dead(graph.nodes.size(), 0);
  int changes = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const ValueId id = node.output(0);
    if (node.outputs.size() != 1 || id == kNoValue || !known[static_cast<size_t>(id)] ||
        graph.is_output(id)) {
      continue;
    }
    graph.value(id).constant = known[static_cast<size_t>(id)];
    dead[i] = 1;
    ++changes;
  }
  erase_nodes(graph, dead);
  return changes;
}

}  // namespace opsmith::graph
