#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace opsmith::graph {
namespace {

/// Pads of a Pad with zeros, begins then ends, of all dimensions; nullopt for any other node.
std::optional<std::vector<int64_t>> zero_pads(const Graph& graph, const Node& node, int64_t opset) {
  if (!node.is("Pad") || node.text("mode", "constant") != "constant") return std::nullopt;
  if (opset < 11) {
    if (node.real("value", 0) != 0 || !node.has("pads")) return std::nullopt;
    return node.integers("pads");
  }
  const Tensor* pads = graph.constant(node.input(1));
  if (!pads || node.input(3) != kNoValue) return std::nullopt;
  if (node.input(2) != kNoValue && scalar_of(graph, node.input(2)) != 0.0) return std::nullopt;
  const Tensor wide = pads->cast(ElementType::Int64);
  return std::vector<int64_t>(wide.data<int64_t>().begin(), wide.data<int64_t>().end());
}

/// Adds spatial pads to those of a Conv; false where they do not fit.
bool add_pads(Node& conv, const std::vector<int64_t>& pads) {
  const size_t rank = pads.size() / 2;
  if (rank < 3 || conv.text("auto_pad", "NOTSET") != "NOTSET") return false;
  const size_t spatial = rank - 2;
  std::vector<int64_t> sum = conv.integers("pads", std::vector<int64_t>(2 * spatial, 0));
  if (sum.size() != 2 * spatial) return false;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t begin = pads[i];
    const int64_t end = pads[i + rank];
    if (begin < 0 || end < 0 || begin > (1 << 20) || end > (1 << 20)) return false;
    if (i < 2 && (begin != 0 || end != 0)) return false;
    if (i < 2) continue;
    sum[i - 2] += begin;
    sum[i - 2 + spatial] += end;
  }
  conv.attributes["pads"] = sum;
  return true;
}

}  // namespace

// before:  x -> Pad(zeros around height and width) -> Conv(pads p) -> y
// after:   x -> Conv(pads p + zeros) -> y
//
// Not: padding of channels, with other values, by reflection, or cropping; other readers keep the
// Pad.
int fold_padding(Model& model, const PassContext&) {
  return for_each_graph(model, [&model](Graph& graph) {
    const std::vector<int32_t> producers = graph.producers();
    int changes = 0;
    for (Node& node : graph.nodes) {
      const ValueId padded = node.input(0);
      if (!node.is("Conv") || padded == kNoValue) continue;
      const int32_t producer = producers[static_cast<size_t>(padded)];
      if (producer < 0) continue;
      const Node& pad = graph.nodes[static_cast<size_t>(producer)];
      const auto pads = zero_pads(graph, pad, model.opset_of(pad));
      if (!pads || !add_pads(node, *pads)) continue;
      node.inputs[0] = pad.inputs[0];
      ++changes;
    }
    return changes;
  });
}

}  // namespace opsmith::graph
