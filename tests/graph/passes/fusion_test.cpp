#include "tests/graph/passes/pass_test.h"

namespace opsmith::graph {
namespace {

using namespace opsmith::testing;  // NOLINT: builders of graphs
using Integers = std::vector<int64_t>;

/// A layer normalisation over `axis` of x [N, 6, 6], spelled out.
Model spelled_layer_norm(int64_t opset, int64_t axis, bool square_by_power) {
  Model model = model_of(opset);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {symbol("N"), 6, 6});
  const auto mean = [&](ValueId id) {
    if (opset >= 18) return graph.add_node("ReduceMean", {id, add_integers(graph, {axis})});
    return graph.add_node("ReduceMean", {id}, {{"axes", Integers{axis}}});
  };
  const auto number = [&](float value) { return graph.add_constant("n", Tensor::scalar(value)); };
  const ValueId centred = graph.add_node("Sub", {x, mean(x)});
  const ValueId squared = square_by_power ? graph.add_node("Pow", {centred, number(2)})
                                          : graph.add_node("Mul", {centred, centred});
  const ValueId guarded = graph.add_node("Add", {mean(squared), number(1e-3f)});
  const ValueId normal = graph.add_node("Div", {centred, graph.add_node("Sqrt", {guarded})});
  const ValueId scale = graph.add_constant("scale", Tensor::zeros(ElementType::Float32, {6}));
  const ValueId shift = graph.add_constant("shift", Tensor::zeros(ElementType::Float32, {6}));
  const ValueId scaled = graph.add_node("Mul", {normal, scale});
  set_output(graph, graph.add_node("Add", {scaled, shift}), "y");
  return model;
}

TEST(LayerNormFusion, OverTheLastAxis) {
  for (const int64_t opset : {17, 18}) {
    for (const int64_t axis : {-1, 2}) {
      for (const bool power : {false, true}) {
        Model model = spelled_layer_norm(opset, axis, power);
        EXPECT_EQ(run_pass(fuse_layer_norms, model), 1);
        run_pass(remove_dead_code, model);
        ASSERT_EQ(node_types(model.graph), std::vector<std::string>{"LayerNormalization"});
        EXPECT_EQ(model.graph.nodes[0].real("epsilon", 0), 1e-3f);
        EXPECT_EQ(model.graph.value(model.graph.outputs[0]).name, "y");
      }
    }
  }
}

TEST(LayerNormFusion, NotBeforeItsOperatorSetOrOverAnotherAxis) {
  Model old = spelled_layer_norm(16, -1, true);
  EXPECT_EQ(run_pass(fuse_layer_norms, old), 0);
  Model middle = spelled_layer_norm(17, 1, true);
  EXPECT_EQ(run_pass(fuse_layer_norms, middle), 0);
}

/// x * 0.5 * (1 + erf(x / divisor)), the three factors multiplied in one of three orders.
Model spelled_gelu(int64_t opset, int order, float divisor) {
  Model model = model_of(opset);
  Graph& graph = model.graph;
  const auto number = [&](float value) { return graph.add_constant("n", Tensor::scalar(value)); };
  const ValueId x = add_input(graph, "x", {symbol("N"), 6});
  const ValueId erf = graph.add_node("Erf", {graph.add_node("Div", {x, number(divisor)})});
  const ValueId sum = graph.add_node("Add", {number(1), erf});
  const ValueId factors[] = {x, sum, number(0.5f)};
  const ValueId first = graph.add_node("Mul", {factors[order], factors[(order + 1) % 3]});
  set_output(graph, graph.add_node("Mul", {first, factors[(order + 2) % 3]}), "y");
  return model;
}

TEST(GeluFusion, InAnyOrder) {
  for (const int order : {0, 1, 2}) {
    Model model = spelled_gelu(20, order, 1.41421354f);
    EXPECT_EQ(run_pass(fuse_gelus, model), 1);
    run_pass(remove_dead_code, model);
    EXPECT_EQ(node_types(model.graph), std::vector<std::string>{"Gelu"});
    EXPECT_EQ(model.graph.nodes[0].input(0), model.graph.inputs[0]);
  }
}

TEST(GeluFusion, NotBeforeItsOperatorSetOrWithOtherNumbers) {
  Model old = spelled_gelu(19, 0, 1.41421354f);
  EXPECT_EQ(run_pass(fuse_gelus, old), 0);
  Model other = spelled_gelu(20, 0, 1.5f);
  EXPECT_EQ(run_pass(fuse_gelus, other), 0);
}

}  // namespace
}  // namespace opsmith::graph
