#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "graph/validate.h"
#include "tests/graph/builders.h"

namespace opsmith::graph {
namespace {

using testing::add_input;
using testing::node_types;

/// x -> If(condition, then: Relu(x), else: Neg(Relu(x))) -> y
Model branching(bool constant, bool condition) {
  Model model = testing::model_of(17);
  const ValueId x = add_input(model.graph, "x", {2});
  const ValueId test = constant ? model.graph.add_constant("test", Tensor::scalar(condition))
                                : add_input(model.graph, "test", {}, ElementType::Bool);
  const auto branch = [](bool negates) {
    auto body = std::make_shared<Graph>();
    Value captured;
    captured.name = "x";
    captured.captured = true;
    ValueId id = body->add_node("Relu", {body->add_value(captured)});
    if (negates) id = body->add_node("Neg", {id});
    body->outputs = {id};
    return body;
  };
  const ValueId y = model.graph.add_node(
      "If", {test}, {{"then_branch", branch(false)}, {"else_branch", branch(true)}});
  testing::set_output(model.graph, y, "y");
  (void)x;
  return model;
}

TEST(BranchInlining, TheTakenBranchStandsInThePlaceOfTheNode) {
  Model model = branching(true, false);
  EXPECT_EQ(inline_branches(model, {}), 1);
  validate(model);
  EXPECT_EQ(node_types(model.graph), (std::vector<std::string>{"Relu", "Neg"}));
  EXPECT_EQ(model.graph.nodes[0].input(0), *model.graph.find("x"));
  EXPECT_EQ(model.graph.nodes[1].output(0), *model.graph.find("y"));
  EXPECT_EQ(inline_branches(model, {}), 0);
}

TEST(BranchInlining, AComputedConditionStays) {
  Model model = branching(false, true);
  EXPECT_EQ(inline_branches(model, {}), 0);
  EXPECT_EQ(node_types(model.graph), (std::vector<std::string>{"If"}));
}

}  // namespace
}  // namespace opsmith::graph
