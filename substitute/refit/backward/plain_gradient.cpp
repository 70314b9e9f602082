#include "substitute/refit/backward/plain_gradient.h"

#include <algorithm>
#include <set>

#include "substitute/refit/backward/stage_node.h"
#include "support/error.h"

namespace opsmith::substitute {

namespace {

using expression::Index;
using expression::Program;
using expression::Scalar;
using expression::Stage;
using graph::Graph;
using graph::Node;
using graph::ValueId;

graph::SymbolicShape symbolic(const Shape& shape) { return {shape.begin(), shape.end()}; }

/// A node whose result has the shape of `like`.
ValueId add_like(Graph& graph, const std::string& type, std::vector<ValueId> inputs, ValueId like,
                 std::map<std::string, graph::Attribute> attributes = {}) {
  const Shape shape = known_shape(graph, like);
  const ValueId made = graph.add_node(type, std::move(inputs), std::move(attributes), 1, "",
                                      graph.value(like).name + ".gradient");
  graph.value(made).type = ElementType::Float32;
  graph.value(made).shape = symbolic(shape);
  return made;
}

ValueId reshape_to(Graph& graph, ValueId gradient, ValueId like) {
  const Shape shape = known_shape(graph, like);
  const ValueId extents =
      graph.add_constant("shape", Tensor::of<int64_t>({static_cast<int64_t>(shape.size())}, shape));
  return add_like(graph, "Reshape", {gradient, extents}, like);
}

/// y[i...] = select(condition, x[source...], 0) as a stage node over the shape of `like`.
ValueId read_elsewhere(graph::Model& model, ValueId x, ValueId like,
                       const std::vector<Index>& source, const Scalar* condition) {
  Graph& graph = model.graph;
  Program program;
  expression::TensorDeclaration declared{"x", ElementType::Float32, {}};
  for (const int64_t extent : known_shape(graph, x)) declared.shape.emplace_back(extent);
  program.inputs = {declared};
  Stage stage;
  stage.name = "y";
  const Shape shape = known_shape(graph, like);
  for (size_t d = 0; d < shape.size(); ++d) {
    stage.axes.push_back({"i" + std::to_string(d), Index(shape[d])});
  }
  stage.body = Scalar::read("x", source);
  if (condition != nullptr) {
    stage.body = Scalar::select(*condition, stage.body, Scalar::constant(0));
  }
  program.stages = {stage};
  program.outputs = {"y"};
  Node node =
      make_stage_node(graph, program, stage, {{"x", x}}, graph.value(like).name + ".gradient");
  graph.nodes.push_back(node);
  return node.outputs.front();
}

std::vector<Index> places(size_t rank) {
  std::vector<Index> indices;
  for (size_t d = 0; d < rank; ++d) indices.push_back(Index::iterator("i" + std::to_string(d)));
  return indices;
}

size_t axis_of(const Node& node, int64_t fallback, size_t rank) {
  const int64_t axis = node.integer("axis", fallback);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

ValueId transpose_back(Graph& graph, const Node& node, ValueId gradient) {
  const size_t rank = known_shape(graph, node.inputs[0]).size();
  std::vector<int64_t> order = node.integers("perm");
  if (order.empty()) {
    for (size_t d = 0; d < rank; ++d) order.push_back(static_cast<int64_t>(rank - 1 - d));
  }
  std::vector<int64_t> inverse(rank);
  for (size_t d = 0; d < rank; ++d) {
    inverse[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  }
  return add_like(graph, "Transpose", {gradient}, node.inputs[0], {{"perm", inverse}});
}

/// The part of the gradient that belongs to one operand of a concatenation.
ValueId part_of(graph::Model& model, const Node& node, size_t input, ValueId gradient) {
  const Graph& graph = model.graph;
  const size_t rank = known_shape(graph, node.inputs[input]).size();
  const size_t axis = axis_of(node, 1, rank);
  int64_t before = 0;
  for (size_t i = 0; i < input; ++i) before += known_shape(graph, node.inputs[i])[axis];
  std::vector<Index> source = places(rank);
  source[axis] = source[axis] + Index(before);
  return read_elsewhere(model, gradient, node.inputs[input], source, nullptr);
}

/// Gather of one constant position: the gradient lies there, and nothing elsewhere.
std::optional<ValueId> gather_back(graph::Model& model, const Node& node, ValueId gradient) {
  const Graph& graph = model.graph;
  const Tensor* indices = graph.constant(node.input(1));
  if (indices == nullptr || indices->count() != 1) return std::nullopt;
  const Shape shape = known_shape(graph, node.inputs[0]);
  const size_t axis = axis_of(node, 0, shape.size());
  int64_t at = indices->cast(ElementType::Int64).data<int64_t>()[0];
  if (at < 0) at += shape[axis];
  std::vector<Index> source = places(shape.size());
  const Scalar position = Scalar::position(source[axis]);
  const Scalar here = Scalar::binary(expression::Binary::Equal, position,
                                     Scalar::constant(static_cast<double>(at)));
  source.erase(source.begin() + static_cast<int64_t>(axis));
  for (int64_t d = 0; d < indices->rank(); ++d) {
    source.insert(source.begin() + static_cast<int64_t>(axis), Index(0));
  }
  return read_elsewhere(model, gradient, node.inputs[0], source, &here);
}

}  // namespace

std::optional<ValueId> plain_gradient(graph::Model& model, const Node& node, size_t input,
                                      const std::vector<ValueId>& incoming) {
  static const std::set<std::string> views = {"Reshape",   "Flatten",  "Squeeze",
                                              "Unsqueeze", "Identity", "Dropout"};
  if (!node.domain.empty() || incoming.front() == graph::kNoValue) return std::nullopt;
  Graph& graph = model.graph;
  if (views.contains(node.type) && input == 0) {
    return reshape_to(graph, incoming.front(), node.inputs[0]);
  }
  if (node.is("Transpose")) return transpose_back(graph, node, incoming.front());
  if (node.is("Concat")) return part_of(model, node, input, incoming.front());
  if (node.is("Gather") && input == 0) return gather_back(model, node, incoming.front());
  return std::nullopt;
}

}  // namespace opsmith::substitute
