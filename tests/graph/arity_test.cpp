#include "graph/operators/arity.h"

#include <gtest/gtest.h>

#include "graph/shape_inference.h"
#include "support/error.h"

namespace opsmith::graph {
namespace {

Node node_with(const std::string& type, std::vector<ValueId> inputs) {
  Node node;
  node.name = "it";
  node.type = type;
  node.inputs = std::move(inputs);
  node.outputs = {0};
  return node;
}

TEST(Arity, RequiredInputsMustBeGiven) {
  EXPECT_NO_THROW(check_arity(node_with("Add", {1, 2})));
  EXPECT_NO_THROW(check_arity(node_with("Constant", {})));
  EXPECT_NO_THROW(check_arity(node_with("Clip", {1})));
  EXPECT_NO_THROW(check_arity(node_with("Resize", {1, kNoValue, 2})));
  EXPECT_NO_THROW(check_arity(node_with("Loop", {kNoValue, kNoValue, 1})));
  EXPECT_THROW(check_arity(node_with("Relu", {})), UserError);
  EXPECT_THROW(check_arity(node_with("Cast", {kNoValue})), UserError);
  EXPECT_THROW(check_arity(node_with("Add", {1})), UserError);
  EXPECT_THROW(check_arity(node_with("Where", {1, kNoValue, 2})), UserError);
  EXPECT_THROW(check_arity(node_with("QLinearConv", {1, 2, 3, 4, 5, 6, 7})), UserError);
}

TEST(Arity, OutputsThatNothingMakesAreRefused) {
  Node node = node_with("Relu", {1});
  node.outputs = {0, 2};
  EXPECT_THROW(check_arity(node), UserError);
  node.type = "MaxPool";
  EXPECT_NO_THROW(check_arity(node));
  node.outputs = {0, 2, 3};
  EXPECT_THROW(check_arity(node), UserError);
  node.type = "Split";
  EXPECT_NO_THROW(check_arity(node));
}

TEST(Arity, InferenceNamesTheNode) {
  Model model;
  model.opsets[""] = 17;
  Value value;
  value.name = "y";
  const ValueId y = model.graph.add_value(value);
  Node node = node_with("MatMul", {});
  node.outputs = {y};
  model.graph.nodes.push_back(node);
  model.graph.outputs = {y};
  try {
    infer_shapes(model);
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("'it'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace opsmith::graph
