// Models of half and double precision through sessions against the node-by-node run.
#include "runtime/executor/half_types.h"

#include <gtest/gtest.h>

#include "graph/shape_inference.h"
#include "runtime/compiler/compiler.h"
#include "runtime/executor/reference.h"
#include "runtime/executor/session.h"
#include "support/random.h"

namespace opsmith::executor {
namespace {

using graph::ValueId;

/// Conv, Relu, MaxPool, a sum with the input's mean, Reshape and MatMul.
graph::Model small_network(ElementType type) {
  graph::Model model;
  model.opsets = {{"", 22}};
  graph::Graph& g = model.graph;
  Random random(7);
  const auto constant = [&](const Shape& shape) {
    Tensor tensor(ElementType::Float32, shape);
    for (float& v : tensor.data<float>()) v = static_cast<float>(random.uniform(-1, 1));
    return g.add_constant("w", tensor.cast(type));
  };
  graph::Value x;
  x.name = "x";
  x.type = type;
  x.shape = graph::SymbolicShape{2, 3, 8, 8};
  const ValueId input = g.add_value(x);
  g.inputs = {input};
  ValueId v = g.add_node("Conv", {input, constant({20, 3, 3, 3}), constant({20})},
                         {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  v = g.add_node("Relu", {v});
  v = g.add_node(
      "MaxPool", {v},
      {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  v = g.add_node("GlobalAveragePool", {v});
  v = g.add_node("Flatten", {v});
  v = g.add_node("MatMul", {v, constant({20, 5})});
  v = g.add_node("Softmax", {v});
  g.value(v).name = "y";
  g.outputs = {v};
  return model;
}

TEST(HalfTypes, SessionsAgreeWithTheNodeByNodeRun) {
  for (const auto type : {ElementType::Float16, ElementType::BFloat16, ElementType::Float64}) {
    const graph::Model model = small_network(type);
    Random random(3);
    Tensor x(ElementType::Float32, {2, 3, 8, 8});
    for (float& v : x.data<float>()) v = static_cast<float>(random.uniform(-1, 1));
    const std::map<std::string, Tensor> inputs = {{"x", x.cast(type)}};
    const Tensor expected = run_reference(model, inputs).at("y");
    const Session session(model, compiler::make_compiler("none"));
    const Tensor actual = session.run(inputs).at("y");
    EXPECT_EQ(actual.type(), type);
    const double tolerance = type == ElementType::Float64    ? 1e-12
                             : type == ElementType::BFloat16 ? 2e-2
                                                             : 2e-3;
    EXPECT_LT(relative_error(actual, expected), tolerance) << to_string(type);
  }
}

TEST(HalfTypes, OnlyNodesThatComputeAreWidened) {
  graph::Model model = small_network(ElementType::Float16);
  graph::infer_shapes(model);
  EXPECT_EQ(widen_half_types(model.graph), 6);  // all but Flatten
  for (const graph::Node& node : model.graph.nodes) {
    if (node.is("Flatten")) {
      EXPECT_EQ(model.graph.value(node.outputs[0]).type, ElementType::Float16);
    }
    if (node.is("Conv")) {
      EXPECT_EQ(model.graph.value(node.outputs[0]).type, ElementType::Float32);
    }
  }
}

}  // namespace
}  // namespace opsmith::executor
