#include "substitute/targets/cost.h"

#include <optional>
#include <set>

#include "runtime/expression/program.h"

namespace opsmith::substitute {

namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

/// The shape with an unknown first dimension taken as 1; nullopt when any other is unknown.
std::optional<Shape> sample_shape(const Graph& graph, ValueId id) {
  if (id == graph::kNoValue) return std::nullopt;
  if (const Tensor* constant = graph.constant(id)) return constant->shape();
  const auto& symbolic = graph.value(id).shape;
  if (!symbolic) return std::nullopt;
  Shape shape;
  for (size_t i = 0; i < symbolic->size(); ++i) {
    if (!(*symbolic)[i].known() && i > 0) return std::nullopt;
    shape.push_back((*symbolic)[i].size.value_or(1));
  }
  return shape;
}

int64_t product(const Shape& shape, size_t begin = 0) {
  int64_t result = 1;
  for (size_t i = begin; i < shape.size(); ++i) result *= shape[i];
  return result;
}

int64_t program_macs(const Node& node, const std::optional<Shape>& x) {
  const std::string text = node.text("program", "");
  if (text.empty() || !x || x->empty()) return 0;
  const expression::Program program = expression::parse(text);
  const expression::TensorDeclaration& input = program.inputs.front();
  Shape shape = *x;
  if (input.shape.size() == 2 && shape.size() != 2) {
    shape = {product(shape) / std::max<int64_t>(shape.back(), 1), shape.back()};
  }
  return expression::multiply_accumulates(
      expression::instantiate(program, expression::infer_binding(program, {{input.name, shape}})));
}

}  // namespace

int64_t node_macs(const graph::Model& model, const Node& node) {
  const Graph& graph = model.graph;
  const std::optional<Shape> x = sample_shape(graph, node.input(0));
  if (node.domain == "opsmith") return program_macs(node, x);
  const std::optional<Shape> w = sample_shape(graph, node.input(1));
  const std::optional<Shape> y = sample_shape(graph, node.output(0));
  if (!x || !w || !y || w->size() < 1) return 0;
  if (node.is("Conv") && w->size() > 2) return product(*y) * product(*w, 1);
  if (node.is("ConvTranspose") && w->size() > 2) return product(*x) * product(*w, 1);
  if (node.is("Gemm") && x->size() == 2) {
    return product(*y) * (*x)[node.integer("transA", 0) != 0 ? 0 : 1];
  }
  if (node.is("MatMul") && !x->empty()) return product(*y) * x->back();
  return 0;
}

int64_t model_macs(const graph::Model& model) {
  int64_t macs = 0;
  for (const Node& node : model.graph.nodes) macs += node_macs(model, node);
  return macs;
}

int64_t model_parameters(const graph::Model& model) {
  std::set<ValueId> counted;
  int64_t parameters = 0;
  for (const Node& node : model.graph.nodes) {
    for (const ValueId id : node.inputs) {
      const Tensor* constant = id == graph::kNoValue ? nullptr : model.graph.constant(id);
      if (constant == nullptr || !counted.insert(id).second) continue;
      const ElementType type = constant->type();
      if (type == ElementType::Float32 || type == ElementType::Float64 ||
          type == ElementType::Float16 || type == ElementType::BFloat16) {
        parameters += constant->count();
      }
    }
  }
  return parameters;
}

}  // namespace opsmith::substitute
