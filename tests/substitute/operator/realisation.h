#pragma once

#include <gtest/gtest.h>

#include "graph/function.h"
#include "runtime/executor/reference.h"
#include "runtime/expression/interpreter.h"
#include "substitute/operator/candidate.h"
#include "tests/substitute/operator/tensors.h"

namespace opsmith::substitute::testing {

struct Realisation {
  Tensor interpreted, function;
  std::map<std::string, int> operators;  ///< of the function's body, by type
};

/// Random weights and input through the interpreter and through the function's body, inlined into
/// a model and run node by node.
inline Realisation realise(const Candidate& candidate, const LayerShape& layer,
                           const expression::Binding& sizes, int64_t opset, uint64_t seed,
                           bool with_bias_input) {
  const expression::Program program = expression::instantiate(candidate.program, sizes);
  expression::Tensors tensors = random_tensors(program, seed);
  Realisation result;
  result.interpreted =
      expression::interpret(candidate.program, tensors, sizes).at(program.outputs[0]);

  graph::Model model;
  model.opsets = {{"", opset}, {"opsmith", 1}};
  model.functions.push_back(onnx_function(candidate, layer, opset, "f", with_bias_input));
  for (const graph::Node& node : model.functions[0].body.nodes) ++result.operators[node.type];
  graph::Graph& graph = model.graph;
  graph::Value x;
  x.name = "x";
  x.type = ElementType::Float32;
  graph.inputs = {graph.add_value(x)};
  std::vector<graph::ValueId> inputs = graph.inputs;
  for (const auto& weight : program.weights)
    inputs.push_back(graph.add_constant(weight.name, tensors.at(weight.name)));
  if (with_bias_input) {
    const Tensor bias = random_tensor({layer.output_channels}, seed + 1);
    inputs.push_back(graph.add_constant("bias", bias));
    result.interpreted = with_bias(result.interpreted, bias);
  }
  graph.outputs = {graph.add_node("f", inputs, {}, 1, "opsmith", "node")};
  graph.value(graph.outputs[0]).name = "out";
  EXPECT_EQ(graph::inline_functions(model), 1);
  result.function = executor::run_reference(model, {{"x", tensors.at("x")}}).at("out");
  return result;
}

}  // namespace opsmith::substitute::testing
