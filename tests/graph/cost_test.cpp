#include "graph/cost.h"

#include "graph/shape_inference.h"
#include "tests/graph/builders.h"

namespace opsmith::graph {
namespace {

using namespace opsmith::testing;  // NOLINT: builders of graphs

Tensor zeros(const Shape& shape) { return Tensor::zeros(ElementType::Float32, shape); }

/// Cost of one node with constant weights on an input.
std::optional<Cost> cost_of_node(const std::string& type, const SymbolicShape& input,
                                 const std::vector<Shape>& weights,
                                 const Attributes& attributes = {}) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  std::vector<ValueId> ids = {add_input(graph, "x", input)};
  for (const Shape& shape : weights) ids.push_back(graph.add_constant("w", zeros(shape)));
  graph.add_node(type, ids, attributes);
  infer_shapes(model);
  return cost_of(model, graph, graph.nodes[0]);
}

TEST(Cost, ConvolutionsAndProducts) {
  auto cost = cost_of_node("Conv", {2, 6, 10, 10}, {{4, 3, 3, 3}, {4}}, {{"group", int64_t{2}}});
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->macs, 2 * 4 * 8 * 8 * 3 * 9);
  EXPECT_EQ(cost->parameters, 4 * 27 + 4);
  cost = cost_of_node("ConvTranspose", {1, 6, 5, 5}, {{6, 4, 2, 2}},
                      {{"strides", std::vector<int64_t>{2, 2}}});
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->macs, 6 * 25 * 4 * 4);
  cost = cost_of_node("MatMul", {3, 7, 5}, {{5, 2}});
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->macs, 3 * 7 * 2 * 5);
  cost = cost_of_node("Gemm", {3, 5}, {{2, 5}, {2}}, {{"transB", int64_t{1}}});
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->macs, 3 * 2 * 5);
  EXPECT_EQ(cost->parameters, 12);
  cost = cost_of_node("Relu", {3, 5}, {});
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->macs, 0);
}

TEST(Cost, UnknownShapesHaveUnknownCost) {
  EXPECT_FALSE(cost_of_node("Conv", {symbol("N"), 6, 10, 10}, {{4, 6, 3, 3}}));
  EXPECT_TRUE(cost_of_node("Relu", {symbol("N")}, {}));
}

TEST(Cost, FunctionsCostWhatTheirBodiesDo) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {1, 8, 6, 6});
  const ValueId w = graph.add_constant("w", zeros({4, 8, 1, 1}));
  for (int i = 0; i < 2; ++i) graph.add_node("layer", {x, w}, {}, 1, "opsmith");
  Function function;
  function.domain = "opsmith";
  function.name = "layer";
  for (const char* name : {"x", "w"}) {
    Value value;
    value.name = name;
    function.body.inputs.push_back(function.body.add_value(value));
  }
  function.body.outputs = {function.body.add_node("Conv", function.body.inputs)};
  model.functions.push_back(std::move(function));
  infer_shapes(model);
  const auto one = cost_of(model, graph, graph.nodes[0]);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->macs, 4 * 8 * 36);
  EXPECT_EQ(one->parameters, 32);
  const auto all = cost_of(model);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->macs, 2 * one->macs);
  EXPECT_EQ(all->parameters, 32);  // shared
}

}  // namespace
}  // namespace opsmith::graph
