#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"
#include "support/error.h"

namespace opsmith::graph {
namespace {

/// Outputs up to this size are always worth it.
constexpr int64_t kSmallBytes = 64 << 10;
/// Larger ones only while they do not make the model much larger than their inputs do.
constexpr int64_t kLargestGrowth = 2;

bool outputs_stay_small(const Graph& graph, const Node& node, int64_t input_bytes) {
  int64_t bytes = 0;
  for (const ValueId id : node.outputs) {
    if (id == kNoValue) continue;
    const Value& value = graph.value(id);
    const auto shape = value.shape ? concrete(*value.shape) : std::nullopt;
    if (!shape || !is_plain_data(value.type)) {
      return false;
    }
    int64_t size = 0;
    try {
      if (__builtin_mul_overflow(element_count(*shape),
                                 static_cast<int64_t>(element_size(value.type)), &size)) {
        return false;
      }
    } catch (const UserError&) {
      return false;  // more elements than can be counted
    }
    if (__builtin_add_overflow(bytes, size, &bytes)) return false;
  }
  return bytes <= std::max(kSmallBytes, kLargestGrowth * input_bytes);
}

/// The node's outputs, if all its inputs are constant and it can and should be evaluated now.
std::vector<Tensor> fold(const Graph& graph, const Node& node, const Model& model,
                         const Evaluator& evaluator) {
  if (node.outputs.empty() || is_random(node) || has_subgraphs(node)) return {};
  std::vector<Tensor> inputs;
  int64_t input_bytes = 0;
  for (const ValueId id : node.inputs) {
    const Tensor* tensor = graph.constant(id);
    if (!tensor && id != kNoValue) return {};
    inputs.push_back(tensor ? *tensor : Tensor());
    if (tensor) input_bytes += static_cast<int64_t>(tensor->bytes());
  }
  for (const ValueId id : node.outputs) {
    if (id != kNoValue && graph.is_output(id)) return {};
  }
  if (!outputs_stay_small(graph, node, input_bytes) || !evaluator.supports(node, model)) return {};
  try {
    return evaluator.evaluate(node, model, inputs);
  } catch (const UserError&) {
    return {};  // the branch that it stands in may never run
  } catch (const Unsupported&) {
    return {};
  }
}

int fold_graph(Graph& graph, const Model& model, const Evaluator& evaluator) {
  std::vector<char> dead(graph.nodes.size(), 0);
  int changes = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::vector<Tensor> results = fold(graph, node, model, evaluator);
    if (results.size() < node.outputs.size() || results.empty()) continue;
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == kNoValue) continue;
      Value& value = graph.value(node.outputs[k]);
      value.type = results[k].type();
      value.shape = SymbolicShape(results[k].shape().begin(), results[k].shape().end());
      value.constant = std::move(results[k]);
    }
    dead[i] = 1;
    ++changes;
  }
  erase_nodes(graph, dead);
  return changes;
}

}  // namespace

// before:  constants a, b -> Add -> c -> ...
// after:   constant c -> ...
//
// Not: random operators, outputs of the graph, outputs that would swell the model (Expand of a
// scalar to a large tensor), outputs of unknown size.
int fold_constants(Model& model, const PassContext& context) {
  if (!context.evaluator) return 0;
  return for_each_graph(model,
                        [&](Graph& graph) { return fold_graph(graph, model, *context.evaluator); });
}

}  // namespace opsmith::graph
