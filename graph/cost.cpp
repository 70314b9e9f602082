#include "graph/cost.h"

#include <algorithm>
#include <set>

#include "graph/operators/dimension.h"
#include "graph/shape_inference.h"

namespace opsmith::graph {
namespace {

const SymbolicShape* shape_of(const Graph& graph, ValueId id) {
  if (id == kNoValue || !graph.value(id).shape) return nullptr;
  return &*graph.value(id).shape;
}

/// Elements of `values` times the product of `factors` from `first` on.
std::optional<int64_t> elements_times(const SymbolicShape* values, const SymbolicShape* factors,
                                      size_t first) {
  if (!values || !factors || factors->size() < first) return std::nullopt;
  const Dimension result =
      product(*values, 0, values->size()) * product(*factors, first, factors->size());
  return result.size;
}

std::optional<int64_t> macs_of_bodies(const Model& model, const Node& node);

std::optional<int64_t> macs_of_graph(const Model& model, const Graph& graph);

std::optional<int64_t> macs_of(const Model& model, const Graph& graph, const Node& node) {
  const SymbolicShape* x = shape_of(graph, node.input(0));
  const SymbolicShape* w = shape_of(graph, node.input(1));
  const SymbolicShape* y = shape_of(graph, node.output(0));
  if (node.is("Conv")) return elements_times(y, w, 1);
  if (node.is("ConvTranspose")) return elements_times(x, w, 1);
  if (node.is("MatMul")) {
    if (!x || x->empty()) return std::nullopt;
    const SymbolicShape inner = {x->back()};
    return elements_times(y, &inner, 0);
  }
  if (node.is("Gemm")) {
    if (!x || x->size() != 2) return std::nullopt;
    const SymbolicShape inner = {(*x)[node.integer("transA", 0) != 0 ? 0 : 1]};
    return elements_times(y, &inner, 0);
  }
  if (model.find_function(node.domain, node.type)) {
    return macs_of_graph(model, inferred_body(model, graph, node));
  }
  return macs_of_bodies(model, node);
}

std::optional<int64_t> macs_of_graph(const Model& model, const Graph& graph) {
  int64_t total = 0;
  for (const Node& node : graph.nodes) {
    const std::optional<int64_t> macs = macs_of(model, graph, node);
    if (!macs) return std::nullopt;
    total += *macs;
  }
  return total;
}

std::optional<int64_t> macs_of_bodies(const Model& model, const Node& node) {
  std::optional<int64_t> most = 0;
  for_each_subgraph(node, [&](const Graph& body) {
    const std::optional<int64_t> macs = macs_of_graph(model, body);
    // How often a loop turns is not known, unless its body is free.
    if (!macs || !most || (!node.is("If") && *macs > 0)) {
      most = std::nullopt;
    } else {
      most = std::max(*most, *macs);
    }
  });
  return most;
}

bool is_real(ElementType type) {
  return type == ElementType::Float32 || type == ElementType::Float64 ||
         type == ElementType::Float16 || type == ElementType::BFloat16;
}

/// Calls `visit` for each constant of reals that the node reads, in its bodies too.
void for_each_weight(const Graph& graph, const Node& node,
                     const std::function<void(const Tensor&)>& visit) {
  for (const ValueId id : node.inputs) {
    const Tensor* tensor = graph.constant(id);
    if (tensor && is_real(tensor->type())) visit(*tensor);
  }
  for_each_subgraph(node, [&](const Graph& body) {
    for (const Node& inner : body.nodes) for_each_weight(body, inner, visit);
  });
}

}  // namespace

std::optional<Cost> cost_of(const Model& model, const Graph& graph, const Node& node) {
  const std::optional<int64_t> macs = macs_of(model, graph, node);
  if (!macs) return std::nullopt;
  Cost cost;
  cost.macs = *macs;
  for_each_weight(graph, node, [&](const Tensor& tensor) { cost.parameters += tensor.count(); });
  return cost;
}

std::optional<Cost> cost_of(const Model& model) {
  Cost total;
  std::set<const void*> counted;
  for (const Node& node : model.graph.nodes) {
    const std::optional<Cost> cost = cost_of(model, model.graph, node);
    if (!cost) return std::nullopt;
    total.macs += cost->macs;
    for_each_weight(model.graph, node, [&](const Tensor& tensor) {
      if (counted.insert(tensor.raw()).second) total.parameters += tensor.count();
    });
  }
  return total;
}

}  // namespace opsmith::graph
