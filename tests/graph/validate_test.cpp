#include "graph/validate.h"

#include "support/error.h"
#include "tests/graph/builders.h"

namespace opsmith::graph {
namespace {

using namespace opsmith::testing;  // NOLINT: builders of graphs

Model chain() {
  Model model = model_of(13);
  const ValueId x = add_input(model.graph, "x", {4});
  const ValueId middle = model.graph.add_node("Relu", {x});
  set_output(model.graph, model.graph.add_node("Neg", {middle}), "y");
  return model;
}

TEST(Validate, EachFaultIsFound) {
  validate(chain());
  Model model = chain();
  std::swap(model.graph.nodes[0], model.graph.nodes[1]);
  EXPECT_THROW(validate(model), InternalError);
  model = chain();
  model.graph.nodes[1].outputs = model.graph.nodes[0].outputs;
  EXPECT_THROW(validate(model), InternalError);
  model = chain();
  model.graph.value(0).name = "y";
  EXPECT_THROW(validate(model), InternalError);
  model = chain();
  model.graph.nodes.pop_back();
  EXPECT_THROW(validate(model), InternalError);
  model = chain();
  model.graph.nodes[0].inputs[0] = 99;
  EXPECT_THROW(validate(model), InternalError);
  model = chain();
  model.graph.value(0).constant = Tensor::scalar(1.0f);
  EXPECT_THROW(validate(model), InternalError);
  model = chain();
  auto body = std::make_shared<Graph>();
  Value value;
  value.name = "nowhere";
  value.captured = true;
  body->outputs = {body->add_value(value)};
  model.graph.nodes[0].attributes["then_branch"] = body;
  EXPECT_THROW(validate(model), InternalError);
}

}  // namespace
}  // namespace opsmith::graph
