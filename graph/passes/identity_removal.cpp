#include <algorithm>

#include "graph/operators/operator.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace opsmith::graph {
namespace {

bool unused(const Graph& graph, const std::vector<std::vector<int32_t>>& consumers, ValueId id) {
  return id == kNoValue || (consumers[static_cast<size_t>(id)].empty() && !graph.is_output(id));
}

/// Shapes of input 0 and output 0 that are known to be equal.
bool same_shape(const Graph& graph, const Node& node) {
  if (node.input(0) == kNoValue || node.output(0) == kNoValue) return false;
  const auto& x = graph.value(node.input(0)).shape;
  const auto& y = graph.value(node.output(0)).shape;
  if (!x || !y || *x != *y) return false;
  return std::none_of(x->begin(), x->end(),
                      [](const Dimension& d) { return !d.known() && d.symbol.empty(); });
}

bool keeps_order(const Node& node) {
  const std::vector<int64_t> order = node.integers("perm");
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(i)) return false;
  }
  return node.has("perm");
}

/// Steps of a Slice that are 1 or absent: equal shapes then mean equal tensors.
bool steps_are_one(const Graph& graph, const Node& node, int64_t opset) {
  if (opset < 10 || node.input(4) == kNoValue) return true;
  const Tensor* steps = graph.constant(node.input(4));
  if (!steps) return false;
  const Tensor wide = steps->cast(ElementType::Int64);
  return std::all_of(wide.data<int64_t>().begin(), wide.data<int64_t>().end(),
                     [](int64_t step) { return step == 1; });
}

/// Pads that are all zero: negative and positive ones could cancel in the shape.
bool pads_are_zero(const Graph& graph, const Node& node, int64_t opset) {
  std::vector<int64_t> pads = node.integers(opset < 2 ? "paddings" : "pads");
  if (opset >= 11) {
    const Tensor* given = graph.constant(node.input(1));
    if (!given) return false;
    const Tensor wide = given->cast(ElementType::Int64);
    pads.assign(wide.data<int64_t>().begin(), wide.data<int64_t>().end());
  }
  return std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
}

bool dropout_is_identity(const Graph& graph, const Node& node, int64_t opset) {
  if (opset < 7) return node.integer("is_test", 0) != 0;
  if (opset < 12 || node.input(2) == kNoValue) return true;
  return scalar_of(graph, node.input(2)) == 0.0;
}

/// Arithmetic with a constant that changes nothing: x + 0, x - 0, x * 1, x / 1. Returns the input
/// that goes through.
std::optional<size_t> neutral(const Graph& graph, const Node& node, int64_t opset) {
  const bool sum = node.is("Add") || node.is("Sub");
  const bool commutes = node.is("Add") || node.is("Mul");
  if (!(sum || node.is("Mul") || node.is("Div")) || node.inputs.size() != 2 || opset < 7) {
    return std::nullopt;
  }
  for (const size_t kept : {size_t{0}, size_t{1}}) {
    if (kept == 1 && !commutes) break;
    if (scalar_of(graph, node.input(1 - kept)) != (sum ? 0.0 : 1.0)) continue;
    const auto& x = graph.value(node.input(kept)).shape;
    const auto& c = graph.value(node.input(1 - kept)).shape;
    if (x && c && c->size() <= x->size()) return kept;
  }
  return std::nullopt;
}

/// The index of the input that comes out unchanged; nullopt where the node does something.
std::optional<size_t> passed_through(const Graph& graph, const Node& node, int64_t opset) {
  if (!node.domain.empty() || node.outputs.empty()) return std::nullopt;
  const auto when = [](bool condition) {
    return condition ? std::optional<size_t>(0) : std::nullopt;
  };
  const std::string& type = node.type;
  if (type == "Identity") return 0;
  if (type == "Dropout") return when(dropout_is_identity(graph, node, opset));
  if (type == "Cast") {
    const ElementType from = graph.value(node.input(0)).type;
    return when(from != ElementType::Undefined && from == graph.value(node.output(0)).type);
  }
  if (type == "Transpose") return when(keeps_order(node));
  if (type == "Reshape" || type == "Flatten" || type == "Squeeze" || type == "Unsqueeze" ||
      type == "Expand" || type == "Tile") {
    return when(same_shape(graph, node));
  }
  if (type == "Slice") return when(same_shape(graph, node) && steps_are_one(graph, node, opset));
  if (type == "Pad") return when(pads_are_zero(graph, node, opset));
  if (type == "Concat" || type == "Sum" || type == "Max" || type == "Min" || type == "Mean") {
    return when(node.inputs.size() == 1);
  }
  return neutral(graph, node, opset);
}

}  // namespace

// before:  x -> Identity -> y -> Conv
// after:   x -> Conv
//
// Likewise a Dropout that is not training, a Cast to the type it has, a Transpose, Reshape,
// Flatten, Squeeze, Expand, Tile, Slice or Pad that changes nothing, a Concat or Sum of one, x + 0
// and x * 1. Stays between an input and an output of the graph, whose names are both kept.
int remove_identities(Model& model, const PassContext&) {
  return for_each_graph(model, [&model](Graph& graph) {
    const std::vector<std::vector<int32_t>> consumers = graph.consumers();
    std::vector<char> dead(graph.nodes.size(), 0);
    int changes = 0;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      const std::optional<size_t> kept = passed_through(graph, node, model.opset_of(node));
      if (!kept || node.input(*kept) == kNoValue || node.output(0) == kNoValue) continue;
      if (!std::all_of(node.outputs.begin() + 1, node.outputs.end(),
                       [&](ValueId id) { return unused(graph, consumers, id); })) {
        continue;
      }
      if (!redirect(graph, node.output(0), node.input(*kept))) continue;
      dead[i] = 1;
      ++changes;
    }
    erase_nodes(graph, dead);
    return changes;
  });
}

}  // namespace opsmith::graph
