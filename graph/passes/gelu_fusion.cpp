#include <numbers>

#include "graph/passes/passes.h"
#include "graph/passes/pattern.h"

namespace opsmith::graph {
namespace {

constexpr int64_t kSince = 20;

/// x, when the value is 1 + erf(x / sqrt(2)).
ValueId argument(const Pattern& pattern, ValueId id) {
  const Node* sum = pattern.made_by(id, "Add");
  const auto one = sum ? pattern.with_constant(*sum) : std::nullopt;
  if (!one || !pattern.is_number(one->constant, 1)) return kNoValue;
  const Node* erf = pattern.made_by(one->other, "Erf");
  if (!erf) return kNoValue;
  if (const Node* division = pattern.made_by(erf->input(0), "Div")) {
    return pattern.is_number(division->input(1), std::numbers::sqrt2) ? division->input(0)
                                                                      : kNoValue;
  }
  const Node* product = pattern.made_by(erf->input(0), "Mul");
  const auto scaled = product ? pattern.with_constant(*product) : std::nullopt;
  return scaled && pattern.is_number(scaled->constant, 1 / std::numbers::sqrt2) ? scaled->other
                                                                                : kNoValue;
}

/// x, when the node is the last of two products of x, 1/2 and 1 + erf(x / sqrt(2)), in any order.
ValueId match(const Pattern& pattern, const Node& last) {
  if (!last.is("Mul") || last.inputs.size() != 2) return kNoValue;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Node* inner = pattern.made_by(last.input(i), "Mul");
    if (!inner || inner->inputs.size() != 2) continue;
    const ValueId factors[] = {last.input(1 - i), inner->input(0), inner->input(1)};
    for (size_t half = 0; half < 3; ++half) {
      if (!pattern.is_number(factors[half], 0.5)) continue;
      const ValueId a = factors[(half + 1) % 3];
      const ValueId b = factors[(half + 2) % 3];
      if (argument(pattern, a) == b) return b;
      if (argument(pattern, b) == a) return a;
    }
  }
  return kNoValue;
}

}  // namespace

// before:  x * (1 + erf(x / sqrt(2))) * 0.5 -> y
// after:   Gelu(x) -> y
//
// In models whose operator set has Gelu (20 and newer). What is left unread goes with the dead
// code.
int fuse_gelus(Model& model, const PassContext&) {
  if (model.opset() < kSince) return 0;
  return for_each_graph(model, [](Graph& graph) {
    const Pattern pattern(graph);
    int changes = 0;
    for (Node& node : graph.nodes) {
      const ValueId x = match(pattern, node);
      if (x == kNoValue) continue;
      node.type = "Gelu";
      node.inputs = {x};
      node.attributes.clear();
      ++changes;
    }
    return changes;
  });
}

}  // namespace opsmith::graph
