#include "runtime/executor/half_types.h"

#include <algorithm>
#include <map>

#include "runtime/kernels/lowering.h"
#include "support/tensor_proto.h"

namespace opsmith::executor {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

bool is_half(ElementType type) {
  return type == ElementType::Float16 || type == ElementType::BFloat16;
}

class Widening {
 public:
  explicit Widening(Graph& graph) : graph_(graph) {}

  int run() {
    std::vector<Node> before = std::move(graph_.nodes);
    graph_.nodes.clear();
    int changed = 0;
    for (Node& node : before) {
      if (!computes_on_halves(node)) {
        graph_.nodes.push_back(std::move(node));
        continue;
      }
      widen(std::move(node));
      ++changed;
    }
    return changed;
  }

 private:
  bool computes_on_halves(const Node& node) const {
    const kernels::KernelDefinition* kernel = kernels::find_kernel(node.domain, node.type);
    return node.domain.empty() && kernel != nullptr && kernels::computes_wide(*kernel, node) &&
           std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
             return id != graph::kNoValue && is_half(graph_.value(id).type);
           });
  }

  void widen(Node node) {
    for (ValueId& id : node.inputs) {
      if (id != graph::kNoValue && is_half(graph_.value(id).type)) id = wide(id);
    }
    std::vector<Node> roundings;
    for (ValueId& id : node.outputs) {
      if (id == graph::kNoValue || !is_half(graph_.value(id).type)) continue;
      const graph::Value& half = graph_.value(id);
      const ElementType type = half.type;
      const ValueId made = graph_.add_unnamed(half.name + "_f32", ElementType::Float32, half.shape);
      roundings.push_back(cast(made, id, type));
      id = made;
    }
    graph_.nodes.push_back(std::move(node));
    for (Node& rounding : roundings) graph_.nodes.push_back(std::move(rounding));
  }

  // The value in f32; each is cast once.
  ValueId wide(ValueId id) {
    const auto found = wide_.find(id);
    if (found != wide_.end()) return found->second;
    const std::string name = graph_.value(id).name + "_f32";
    ValueId made = graph::kNoValue;
    if (const Tensor* constant = graph_.constant(id)) {
      made = graph_.add_constant(name, constant->cast(ElementType::Float32));
    } else {
      made = graph_.add_unnamed(name, ElementType::Float32, graph_.value(id).shape);
      graph_.nodes.push_back(cast(id, made, ElementType::Float32));
    }
    return wide_[id] = made;
  }

  Node cast(ValueId from, ValueId to, ElementType type) const {
    Node node;
    node.name = graph_.value(to).name + "_cast";
    node.type = "Cast";
    node.inputs = {from};
    node.outputs = {to};
    node.attributes["to"] = int64_t{onnx_data_type(type)};
    return node;
  }

  Graph& graph_;
  std::map<ValueId, ValueId> wide_;
};

}  // namespace

int widen_half_types(Graph& graph) { return Widening(graph).run(); }

}  // namespace opsmith::executor
