#include "graph/function.h"

#include "support/error.h"

namespace opsmith::graph {
namespace {

ValueId add_input(Graph& graph, const std::string& name) {
  Value value;
  value.name = name;
  graph.inputs.push_back(graph.add_value(std::move(value)));
  return graph.inputs.back();
}

/// A function of domain "mine" with one input and one output.
Function make_function(const std::string& name) {
  Function function;
  function.domain = "mine";
  function.name = name;
  add_input(function.body, "a");
  return function;
}

Model calling(Function function) {
  Model model;
  model.opsets = {{"", 17}, {"mine", 1}};
  const ValueId x = add_input(model.graph, "x");
  const ValueId y = model.graph.add_node(function.name, {x}, {}, 1, "mine", "call");
  model.graph.value(y).name = "y";
  model.graph.outputs = {y};
  model.functions.push_back(std::move(function));
  return model;
}

TEST(Function, CallsWithinBodiesAreInlinedToo) {
  Function inner = make_function("inner");
  inner.body.outputs = {inner.body.add_node("Relu", {inner.body.inputs[0]})};
  Function outer = make_function("outer");
  const ValueId first = outer.body.add_node("inner", {outer.body.inputs[0]}, {}, 1, "mine");
  outer.body.outputs = {outer.body.add_node("inner", {first}, {}, 1, "mine")};
  Model model = calling(std::move(outer));
  model.functions.push_back(std::move(inner));
  EXPECT_EQ(inline_functions(model), 3);
  ASSERT_EQ(model.graph.nodes.size(), 2u);
  EXPECT_EQ(model.graph.nodes[0].type, "Relu");
  EXPECT_EQ(model.graph.nodes[1].input(0), model.graph.nodes[0].output(0));
  EXPECT_EQ(model.graph.nodes[1].output(0), model.graph.outputs[0]);
  EXPECT_NE(model.graph.nodes[0].name, model.graph.nodes[1].name);
}

TEST(Function, AnInputHandedThroughBecomesAnIdentity) {
  Function function = make_function("same");
  function.body.outputs = function.body.inputs;
  Model model = calling(std::move(function));
  inline_functions(model);
  ASSERT_EQ(model.graph.nodes.size(), 1u);
  EXPECT_EQ(model.graph.nodes[0].type, "Identity");
  EXPECT_EQ(model.graph.nodes[0].input(0), model.graph.inputs[0]);
}

TEST(Function, SubgraphsInsideBodiesFollowTheNewNames) {
  Function function = make_function("f");
  Graph& body = function.body;
  const ValueId middle = body.add_node("Relu", {body.inputs[0]});
  auto branch = std::make_shared<Graph>();
  Value captured;
  captured.name = body.value(middle).name;
  captured.captured = true;
  const ValueId inner = branch->add_value(captured);
  branch->outputs = {branch->add_node("Neg", {inner})};
  body.outputs = {body.add_node("If", {body.inputs[0]}, {{"then_branch", branch}})};
  Model model = calling(std::move(function));
  inline_functions(model);
  ASSERT_EQ(model.graph.nodes.size(), 2u);
  const std::string renamed = model.graph.value(model.graph.nodes[0].output(0)).name;
  EXPECT_NE(renamed, captured.name);
  for_each_subgraph(std::as_const(model.graph.nodes[1]), [&](const Graph& nested) {
    EXPECT_EQ(nested.captures(), std::vector<std::string>{renamed});
  });
}

TEST(Function, RecursionIsRefused) {
  Function function = make_function("f");
  function.body.outputs = {function.body.add_node("f", {function.body.inputs[0]}, {}, 1, "mine")};
  Model model = calling(std::move(function));
  EXPECT_THROW(check_no_recursion(model), UserError);
  EXPECT_THROW(inline_functions(model), UserError);
}

TEST(Function, NodesOfAnotherOperatorSetKeepItsMeaning) {
  Function function = make_function("f");
  const ValueId normal = function.body.add_node("Softmax", {function.body.inputs[0]});
  function.body.outputs = {function.body.add_node("Relu", {normal})};
  function.opsets = {{"", 9}};
  Model model = calling(std::move(function));
  ASSERT_GE(model.opset(), 13);
  inline_functions(model);
  ASSERT_EQ(model.graph.nodes.size(), 2U);
  EXPECT_EQ(model.opset_of(model.graph.nodes[0]), 9);  // Softmax changed at 13
  EXPECT_EQ(model.opset_of(model.graph.nodes[1]), model.opset());
}

}  // namespace
}  // namespace opsmith::graph
