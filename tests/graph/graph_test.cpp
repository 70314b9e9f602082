#include "graph/graph.h"

#include "support/error.h"

namespace opsmith::graph {
namespace {

Value named(const std::string& name) {
  Value value;
  value.name = name;
  value.type = ElementType::Float32;
  return value;
}

/// x -> Relu -> Sigmoid -> y
Graph chain() {
  Graph graph;
  const ValueId x = graph.add_value(named("x"));
  graph.inputs = {x};
  const ValueId middle = graph.add_node("Relu", {x}, {}, 1, "", "first");
  const ValueId y = graph.add_node("Sigmoid", {middle}, {}, 1, "", "second");
  graph.value(y).name = "y";
  graph.outputs = {y};
  return graph;
}

/// A body that returns relu(outer), where `outer` is taken from the graph around it.
std::shared_ptr<Graph> capturing(const std::string& outer) {
  auto body = std::make_shared<Graph>();
  Value value = named(outer);
  value.captured = true;
  const ValueId captured = body->add_value(value);
  body->outputs = {body->add_node("Relu", {captured})};
  return body;
}

TEST(Graph, ShapesPrintAndBecomeNumbers) {
  const SymbolicShape shape = {Dimension::named("N"), 3, Dimension()};
  EXPECT_EQ(to_string(shape), "[N, 3, ?]");
  EXPECT_EQ(concrete(shape), std::nullopt);
  EXPECT_EQ(concrete({2, 3}), (Shape{2, 3}));
  EXPECT_EQ(concrete({}), Shape{});
}

TEST(Graph, AttributesAreTypedAndMisuseNamesTheNode) {
  Node node;
  node.type = "Conv";
  node.name = "stem";
  node.attributes = {{"group", int64_t{2}}, {"pads", std::vector<int64_t>{1, 1}}};
  EXPECT_EQ(node.integer("group", 1), 2);
  EXPECT_EQ(node.integer("absent", 7), 7);
  EXPECT_EQ(node.integers("pads"), (std::vector<int64_t>{1, 1}));
  try {
    node.real("group", 1);
    FAIL() << "an integer was read as a real number";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("Conv 'stem'"), std::string::npos);
  }
}

TEST(Graph, NamesAreUniqueThroughSubgraphs) {
  Graph graph = chain();
  EXPECT_EQ(graph.unique_name("fresh"), "fresh");
  EXPECT_EQ(graph.unique_name("y"), "y_1");
  auto body = capturing("x");
  body->value(body->outputs[0]).name = "y_1";
  graph.add_node("If", {graph.inputs[0]}, {{"then_branch", body}});
  EXPECT_EQ(graph.unique_name("y"), "y_2");
}

TEST(Graph, ProducersAndConsumers) {
  const Graph graph = chain();
  const ValueId x = *graph.find("x");
  const ValueId y = *graph.find("y");
  EXPECT_EQ(graph.producers()[static_cast<size_t>(x)], -1);
  EXPECT_EQ(graph.producers()[static_cast<size_t>(y)], 1);
  EXPECT_EQ(graph.consumers()[static_cast<size_t>(x)], std::vector<int32_t>{0});
  EXPECT_TRUE(graph.consumers()[static_cast<size_t>(y)].empty());
}

TEST(Graph, SubgraphCapturesAreConsumers) {
  Graph graph = chain();
  const ValueId middle = graph.nodes[0].output(0);
  auto outer = std::make_shared<Graph>();
  outer->add_node("If", {}, {{"else_branch", capturing(graph.value(middle).name)}});
  graph.add_node("If", {graph.inputs[0]}, {{"then_branch", outer}});
  EXPECT_EQ(graph.consumers()[static_cast<size_t>(middle)], (std::vector<int32_t>{1, 2}));
}

TEST(Graph, ReplacingAnOutputMovesItsName) {
  Graph graph = chain();
  const ValueId middle = graph.nodes[0].output(0);
  const ValueId y = graph.outputs[0];
  EXPECT_TRUE(graph.replace_uses(y, middle));
  EXPECT_EQ(graph.outputs[0], middle);
  EXPECT_EQ(graph.value(middle).name, "y");
  EXPECT_NE(graph.value(y).name, "y");
}

TEST(Graph, ReplacingAnOutputByAnInputKeepsBothNames) {
  Graph graph = chain();
  const ValueId y = graph.outputs[0];
  EXPECT_FALSE(graph.replace_uses(y, graph.inputs[0]));
  EXPECT_EQ(graph.outputs[0], y);
  EXPECT_EQ(graph.value(y).name, "y");
  EXPECT_EQ(graph.value(graph.inputs[0]).name, "x");
}

TEST(Graph, ReplacingRenamesCapturesAndLeavesCopiesAlone) {
  Graph graph = chain();
  const ValueId middle = graph.nodes[0].output(0);
  graph.add_node("If", {graph.inputs[0]}, {{"then_branch", capturing(graph.value(middle).name)}});
  const Graph copy = graph;
  graph.replace_uses(middle, graph.inputs[0]);
  for_each_subgraph(std::as_const(graph.nodes[2]), [](const Graph& body) {
    EXPECT_EQ(body.captures(), std::vector<std::string>{"x"});
  });
  for_each_subgraph(copy.nodes[2], [&](const Graph& body) {
    EXPECT_EQ(body.captures(), std::vector<std::string>{copy.value(middle).name});
  });
}

TEST(Graph, SortOrdersStablyAndNamesACycle) {
  Graph graph = chain();
  std::swap(graph.nodes[0], graph.nodes[1]);
  graph.sort();
  EXPECT_EQ(graph.nodes[0].type, "Relu");
  EXPECT_EQ(graph.nodes[1].type, "Sigmoid");
  graph.nodes[0].inputs[0] = graph.outputs[0];
  try {
    graph.sort();
    FAIL() << "a cycle was accepted";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("'first'"), std::string::npos);
  }
}

TEST(Graph, SortSeesCaptures) {
  Graph graph = chain();
  graph.add_node("If", {graph.inputs[0]}, {{"then_branch", capturing("y")}});
  std::swap(graph.nodes[0], graph.nodes[2]);
  graph.sort();
  EXPECT_EQ(graph.nodes[0].type, "Relu");
  EXPECT_EQ(graph.nodes[2].type, "If");
}

TEST(Graph, CompactDropsWhatNothingUses) {
  Graph graph = chain();
  graph.add_constant("unused", Tensor::scalar(1.0f));
  graph.add_constant("captured", Tensor::scalar(1.0f));
  graph.add_node("If", {graph.inputs[0]}, {{"then_branch", capturing("captured")}});
  graph.compact();
  EXPECT_FALSE(graph.find("unused"));
  ASSERT_TRUE(graph.find("captured"));
  EXPECT_TRUE(graph.constant(*graph.find("captured")));
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
  EXPECT_EQ(graph.value(graph.nodes[1].output(0)).name, "y");
}

TEST(Model, FindsFunctionsAndOpsets) {
  Model model;
  EXPECT_EQ(model.opset(), 1);
  model.opsets = {{"", 17}};
  EXPECT_EQ(model.opset(), 17);
  model.functions.emplace_back();
  model.functions[0].domain = "opsmith";
  model.functions[0].name = "f";
  EXPECT_EQ(model.find_function("opsmith", "f"), &model.functions[0]);
  EXPECT_EQ(model.find_function("", "f"), nullptr);
}

}  // namespace
}  // namespace opsmith::graph
