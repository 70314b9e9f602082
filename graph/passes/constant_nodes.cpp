#include "graph/operators/operator.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace opsmith::graph {

// before:  Constant(value) -> w -> Conv
// after:                      w -> Conv   with w a constant of the graph
//
// Stays where the value is an output of the graph, or of a type that we do not know.
int make_constants(Model& model, const PassContext&) {
  return for_each_graph(model, [](Graph& graph) {
    std::vector<char> dead(graph.nodes.size(), 0);
    int changes = 0;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      const ValueId id = node.output(0);
      if (!node.is("Constant") || id == kNoValue || graph.is_output(id)) continue;
      Tensor tensor = constant_value(node);
      if (!tensor.defined()) continue;
      Value& value = graph.value(id);
      value.type = tensor.type();
      value.shape = SymbolicShape(tensor.shape().begin(), tensor.shape().end());
      value.constant = std::move(tensor);
      dead[i] = 1;
      ++changes;
    }
    erase_nodes(graph, dead);
    return changes;
  });
}

}  // namespace opsmith::graph
