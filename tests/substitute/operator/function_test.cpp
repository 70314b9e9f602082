#include <gtest/gtest.h>

#include <random>

#include "graph/function.h"
#include "runtime/executor/reference.h"
#include "runtime/expression/interpreter.h"
#include "substitute/operator/candidate.h"
#include "substitute/operator/layer.h"
#include "tests/substitute/operator/layers.h"
#include "tests/substitute/operator/tensors.h"

namespace opsmith::substitute {
namespace {

using testing::convolution;
using testing::product;

struct Realisation {
  Tensor interpreted, function;
};

/// Random weights and input through the interpreter and through the function's body, inlined into
/// a model and run node by node.
Realisation realise(const Candidate& candidate, const LayerShape& layer,
                    const expression::Binding& sizes, int64_t opset, uint64_t seed) {
  const expression::Program program = expression::instantiate(candidate.program, sizes);
  expression::Tensors tensors = testing::random_tensors(program, seed);
  const Tensor bias = testing::random_tensor({layer.output_channels}, seed + 1);
  Realisation result;
  result.interpreted =
      testing::with_bias(expression::interpret(candidate.program, tensors, sizes).at("y"), bias);

  graph::Model model;
  model.opsets = {{"", opset}, {"opsmith", 1}};
  model.functions.push_back(onnx_function(candidate, layer, opset, "f", true));
  graph::Graph& graph = model.graph;
  graph::Value x;
  x.name = "x";
  x.type = ElementType::Float32;
  graph.inputs = {graph.add_value(x)};
  std::vector<graph::ValueId> inputs = graph.inputs;
  for (const auto& weight : program.weights)
    inputs.push_back(graph.add_constant(weight.name, tensors.at(weight.name)));
  inputs.push_back(graph.add_constant("bias", bias));
  graph.outputs = {graph.add_node("f", inputs, {}, 1, "opsmith", "node")};
  graph.value(graph.outputs[0]).name = "out";
  EXPECT_EQ(graph::inline_functions(model), 1);
  result.function = executor::run_reference(model, {{"x", tensors.at("x")}}).at("out");
  return result;
}

void check_all(LayerShape layer, const expression::Binding& sizes, int64_t opset) {
  uint64_t seed = 1;
  const std::vector<Candidate> candidates = catalogue(layer);
  EXPECT_FALSE(candidates.empty());
  for (const Candidate& candidate : candidates) {
    SCOPED_TRACE(candidate.name + " for " + to_string(layer) + " in opset " +
                 std::to_string(opset));
    const Realisation result = realise(candidate, layer, sizes, opset, seed++);
    EXPECT_EQ(result.function.shape(), result.interpreted.shape());
    EXPECT_LT(relative_error(result.function, result.interpreted), 2e-6);
  }
}

/// The layers that are awkward: odd extents, groups, strides, dilation, padding on one side only.
std::vector<LayerShape> awkward_layers() {
  std::vector<LayerShape> layers = {
      convolution(16, 16, 7),    convolution(12, 20, 7, 3, 2), convolution(10, 16, 9, 3, 1, 2),
      convolution(24, 18, 6, 5), convolution(16, 24, 7, 1, 2), convolution(9, 9, 6),
      convolution(32, 32, 5),
  };
  LayerShape one_sided = convolution(16, 12, 8, 3, 2);
  one_sided.padding_top = one_sided.padding_left = 0;
  layers.push_back(one_sided);
  LayerShape oblong = convolution(12, 12, 7);
  oblong.width = 10;
  oblong.kernel_width = 5;
  oblong.padding_left = 1;
  oblong.padding_right = 2;
  layers.push_back(oblong);
  LayerShape valid = convolution(18, 18, 8);
  valid.padding_top = valid.padding_left = valid.padding_bottom = valid.padding_right = 0;
  layers.push_back(valid);
  return layers;
}

TEST(OnnxFunction, AgreesWithTheInterpreterOnAwkwardLayers) {
  for (const LayerShape& layer : awkward_layers())
    for (const int64_t opset : {9, 13, 18})
      check_all(layer, {{"N", 2}, {"H", layer.height}, {"W", layer.width}}, opset);
}

TEST(OnnxFunction, HoldsForAnyExtentWhereTheLayerIsDynamic) {
  for (LayerShape layer : awkward_layers()) {
    layer.height = layer.width = 0;
    check_all(layer, {{"N", 1}, {"H", 8}, {"W", 11}}, 11);
    check_all(layer, {{"N", 3}, {"H", 7}, {"W", 6}}, 17);
  }
}

TEST(OnnxFunction, HoldsForRandomLayers) {
  std::mt19937_64 random(20261121);
  const auto among = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 12; ++i) {
    LayerShape layer = convolution(among(2, 20), among(2, 20), among(5, 9), 2 * among(0, 2) + 1,
                                   among(1, 2), among(1, 2));
    layer.width = among(5, 9);
    for (int64_t* padding :
         {&layer.padding_top, &layer.padding_left, &layer.padding_bottom, &layer.padding_right})
      *padding = among(layer.dilation, 2 * layer.dilation);
    if (layer.kernel_height == 1) layer.dilation = 1;
    if ((layer.kernel_height - 1) * layer.dilation >= layer.height) continue;
    uint64_t seed = 7;
    for (const Candidate& candidate : catalogue(layer)) {
      SCOPED_TRACE(candidate.name + " for " + to_string(layer) + ", case " + std::to_string(i));
      const Realisation result = realise(
          candidate, layer, {{"N", 1}, {"H", layer.height}, {"W", layer.width}}, 15, seed++);
      EXPECT_LT(relative_error(result.function, result.interpreted), 2e-6);
    }
  }
}

TEST(OnnxFunction, ProductsTakeAnyRows) {
  for (const int64_t opset : {9, 14}) check_all(product(20, 12), {{"M", 3}}, opset);
}

}  // namespace
}  // namespace opsmith::substitute
