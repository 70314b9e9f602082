#include "runtime/executor/prepare.h"

#include <algorithm>
#include <cmath>

#include "graph/passes/pass.h"
#include "graph/passes/rewriting.h"
#include "graph/shape_inference.h"
#include "runtime/executor/evaluator.h"
#include "runtime/executor/functions.h"
#include "runtime/executor/half_types.h"
#include "runtime/executor/node_evaluation.h"
#include "support/error.h"

namespace opsmith::executor {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

constexpr int64_t kLargestFolded = 1 << 20;  // elements; larger results stay computed

// Computes nodes whose inputs are all constant, and Shape and Size of known shapes.
int fold_constants(graph::Model& model) {
  Graph& graph = model.graph;
  int folded = 0;
  std::erase_if(graph.nodes, [&](const Node& node) {
    if (!can_evaluate(node) || node.outputs.empty() || graph::is_random(node)) return false;
    std::vector<Tensor> inputs;
    bool shape_only = node.is("Shape") || node.is("Size");
    for (ValueId id : node.inputs) {
      if (id == graph::kNoValue) {
        inputs.emplace_back();
      } else if (const Tensor* constant = graph.constant(id)) {
        inputs.push_back(*constant);
      } else if (shape_only && graph.value(id).shape && concrete(*graph.value(id).shape)) {
        inputs.push_back(
            Tensor::view(ElementType::UInt8, *concrete(*graph.value(id).shape), nullptr));
      } else {
        return false;
      }
    }
    for (ValueId id : node.outputs) {
      if (id == graph::kNoValue) continue;
      bool is_output =
          std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end();
      auto known = graph.value(id).shape ? concrete(*graph.value(id).shape) : std::nullopt;
      if (is_output || (known && element_count(*known) > kLargestFolded)) return false;
    }
    std::vector<Tensor> outputs = evaluate_node(node, model, inputs);
    for (size_t i = 0; i < node.outputs.size() && i < outputs.size(); ++i) {
      if (node.outputs[i] == graph::kNoValue) continue;
      graph::Value& value = graph.value(node.outputs[i]);
      value.constant = outputs[i];
      value.type = outputs[i].type();
      value.shape = graph::SymbolicShape(outputs[i].shape().begin(), outputs[i].shape().end());
    }
    ++folded;
    return true;
  });
  return folded;
}

Tensor per_channel(const std::vector<float>& values, size_t rank) {
  Shape shape(rank - 1, 1);
  shape[0] = static_cast<int64_t>(values.size());
  return Tensor::of<float>(shape, values);
}

}  // namespace

int split_batch_normalizations(Graph& graph) {
  int count = 0;
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    const Tensor* parameters[4] = {};
    bool constant = node.is("BatchNormalization") && node.integer("training_mode", 0) == 0;
    for (size_t i = 0; constant && i < 4; ++i) {
      parameters[i] = graph.constant(node.input(i + 1));
      constant = parameters[i] != nullptr && parameters[i]->type() == ElementType::Float32;
    }
    if (!constant || !graph.value(node.inputs[0]).shape ||
        graph.value(node.inputs[0]).shape->size() < 2) {
      nodes.push_back(std::move(node));
      continue;
    }
    size_t rank = graph.value(node.inputs[0]).shape->size();
    std::vector<float> scale, shift;
    for (size_t c = 0; c < parameters[0]->data<float>().size(); ++c) {
      auto at = [&](size_t i) { return static_cast<double>(parameters[i]->data<float>()[c]); };
      double factor = at(0) / std::sqrt(at(3) + static_cast<double>(node.real("epsilon", 1e-5F)));
      scale.push_back(static_cast<float>(factor));
      shift.push_back(static_cast<float>(at(1) - at(2) * factor));
    }
    ValueId scales = graph.add_constant(node.name + "_scale", per_channel(scale, rank));
    ValueId shifts = graph.add_constant(node.name + "_shift", per_channel(shift, rank));
    const graph::Value& result = graph.value(node.outputs[0]);
    ValueId scaled = graph.add_unnamed(node.name + "_scaled", result.type, result.shape);
    Node multiply, add;
    multiply.name = node.name;
    multiply.type = "Mul";
    multiply.inputs = {node.inputs[0], scales};
    multiply.outputs = {scaled};
    add.name = node.name + "_shift";
    add.type = "Add";
    add.inputs = {scaled, shifts};
    add.outputs = {node.outputs[0]};
    nodes.push_back(std::move(multiply));
    nodes.push_back(std::move(add));
    ++count;
  }
  graph.nodes = std::move(nodes);
  return count;
}

graph::Model prepare_model(graph::Model model, const std::vector<std::string>& keep) {
  for (const std::string& name : keep) {
    auto id = model.graph.find(name);
    if (!id) throw UserError("there is no value named '" + name + "' to keep");
    auto& outputs = model.graph.outputs;
    if (std::find(outputs.begin(), outputs.end(), *id) == outputs.end()) outputs.push_back(*id);
  }
  inline_functions_without_program(model);
  graph::infer_shapes(model);
  auto evaluator = make_evaluator();
  graph::simplify(model, {evaluator.get()});
  split_batch_normalizations(model.graph);
  if (widen_half_types(model.graph) > 0) graph::infer_shapes(model);
  return model;
}

graph::Model fix_shapes(const graph::Model& prepared, const std::map<std::string, Shape>& shapes) {
  graph::Model model = prepared;
  graph::fix_input_shapes(model, shapes);
  while (fold_constants(model) > 0) graph::infer_shapes(model);
  return model;
}

}  // namespace opsmith::executor
