#include "graph/passes/passes.h"
#include "graph/passes/pattern.h"

namespace opsmith::graph {
namespace {

constexpr int64_t kSince = 17;

/// Whether the node is a mean over the last axis alone, which it keeps as an extent of 1.
bool over_last_axis(const Graph& graph, const Node& mean, int64_t opset) {
  std::vector<int64_t> axes = mean.integers("axes");
  if (opset >= 18) {
    const Tensor* given = graph.constant(mean.input(1));
    if (!given) return false;
    const Tensor wide = given->cast(ElementType::Int64);
    axes.assign(wide.data<int64_t>().begin(), wide.data<int64_t>().end());
  }
  const auto& shape = graph.value(mean.input(0)).shape;
  const int64_t last = shape ? static_cast<int64_t>(shape->size()) - 1 : -1;
  return mean.integer("keepdims", 1) != 0 && axes.size() == 1 && (axes[0] == -1 || axes[0] == last);
}

struct LayerNorm {
  ValueId x, scale, shift;
  float epsilon;
};

/// Whether the constant has one number for each entry of the last axis of x.
bool fits_last_axis(const Graph& graph, ValueId constant, ValueId x) {
  const auto& shape = graph.value(x).shape;
  const Tensor* tensor = graph.constant(constant);
  return shape && !shape->empty() && tensor && tensor->type() == ElementType::Float32 &&
         shape->back().known() && tensor->shape() == Shape{*shape->back().size};
}

std::optional<LayerNorm> match(const Graph& graph, const Pattern& pattern, const Node& last,
                               int64_t opset) {
  if (!last.is("Add")) return std::nullopt;
  const auto shifted = pattern.with_constant(last);
  const Node* scaling = shifted ? pattern.made_by(shifted->other, "Mul") : nullptr;
  const auto scaled = scaling ? pattern.with_constant(*scaling) : std::nullopt;
  const Node* division = scaled ? pattern.made_by(scaled->other, "Div") : nullptr;
  const Node* centred = division ? pattern.made_by(division->input(0), "Sub") : nullptr;
  const Node* root = division ? pattern.made_by(division->input(1), "Sqrt") : nullptr;
  const Node* guarded = root ? pattern.made_by(root->input(0), "Add") : nullptr;
  const auto epsilon = guarded ? pattern.with_constant(*guarded) : std::nullopt;
  const Node* variance = epsilon ? pattern.made_by(epsilon->other, "ReduceMean") : nullptr;
  if (!centred || !variance) return std::nullopt;
  const Node* power = pattern.made_by(variance->input(0), "Pow");
  const Node* square = pattern.made_by(variance->input(0), "Mul");
  const ValueId difference = centred->output(0);
  const bool squared =
      (power && power->input(0) == difference && pattern.is_number(power->input(1), 2)) ||
      (square && square->input(0) == difference && square->input(1) == difference);
  const Node* mean = pattern.made_by(centred->input(1), "ReduceMean");
  const auto number = scalar_of(graph, epsilon->constant);
  if (!squared || !mean || mean->input(0) != centred->input(0) || !number) return std::nullopt;
  const ValueId x = centred->input(0);
  if (!over_last_axis(graph, *mean, opset) || !over_last_axis(graph, *variance, opset) ||
      !fits_last_axis(graph, scaled->constant, x) || !fits_last_axis(graph, shifted->constant, x)) {
    return std::nullopt;
  }
  return LayerNorm{x, scaled->constant, shifted->constant, static_cast<float>(*number)};
}

}  // namespace

// before:  x - mean(x) -> d;  d / sqrt(mean(d * d) + epsilon) * scale + shift -> y
// after:   LayerNormalization(x, scale, shift) -> y
//
// Over the last axis, in models whose operator set has LayerNormalization (17 and newer). What is
// left unread goes with the dead code.
int fuse_layer_norms(Model& model, const PassContext&) {
  if (model.opset() < kSince) return 0;
  return for_each_graph(model, [&model](Graph& graph) {
    const Pattern pattern(graph);
    int changes = 0;
    for (Node& node : graph.nodes) {
      const std::optional<LayerNorm> found = match(graph, pattern, node, model.opset_of(node));
      if (!found) continue;
      node.type = "LayerNormalization";
      node.inputs = {found->x, found->scale, found->shift};
      node.attributes = {{"axis", int64_t{-1}}, {"epsilon", found->epsilon}};
      ++changes;
    }
    return changes;
  });
}

}  // namespace opsmith::graph
