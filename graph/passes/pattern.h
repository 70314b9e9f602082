#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/passes/rewriting.h"

namespace opsmith::graph {

/// Reads a graph backwards, from a value to the nodes that it came from.
class Pattern {
 public:
  explicit Pattern(const Graph& graph) : graph_(graph), producers_(graph.producers()) {}

  /// The node of ONNX's own operator `type` that makes the value; nullptr if it is another.
  const Node* made_by(ValueId id, const std::string& type) const {
    if (id == kNoValue || producers_[static_cast<size_t>(id)] < 0) return nullptr;
    const Node& node = graph_.nodes[static_cast<size_t>(producers_[static_cast<size_t>(id)])];
    return node.is(type) ? &node : nullptr;
  }

  /// Whether the value is a constant of one element near `expected`.
  bool is_number(ValueId id, double expected) const {
    const std::optional<double> value = scalar_of(graph_, id);
    return value && std::abs(*value - expected) <= 1e-5 * std::abs(expected);
  }

  /// The operand of a node with two inputs that is a constant, and the other one.
  struct WithConstant {
    ValueId other, constant;
  };
  std::optional<WithConstant> with_constant(const Node& node) const {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (node.inputs.size() == 2 && graph_.constant(node.input(i))) {
        return WithConstant{node.input(1 - i), node.input(i)};
      }
    }
    return std::nullopt;
  }

 private:
  const Graph& graph_;
  std::vector<int32_t> producers_;
};

}  // namespace opsmith::graph
