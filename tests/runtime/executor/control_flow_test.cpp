// Forms of control flow that ONNX's cases do not reach.
#include "runtime/executor/control_flow.h"

#include <gtest/gtest.h>

#include "runtime/executor/reference.h"
#include "support/error.h"

namespace opsmith::executor {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

ValueId add_input(Graph& graph, const std::string& name) {
  graph::Value value;
  value.name = name;
  graph.inputs.push_back(graph.add_value(std::move(value)));
  return graph.inputs.back();
}

/// A model with one node of control flow over float inputs, and its body.
struct Harness {
  graph::Model model;
  std::shared_ptr<Graph> body = std::make_shared<Graph>();

  explicit Harness(int64_t opset) { model.opsets = {{"", opset}}; }

  std::vector<Tensor> run(const std::string& type, const std::vector<Tensor>& inputs,
                          std::map<std::string, graph::Attribute> attributes = {}) {
    Node node;
    node.name = "tested";
    node.type = type;
    node.attributes = std::move(attributes);
    node.attributes["body"] = body;
    for (size_t i = 0; i < body->outputs.size(); ++i) {
      node.outputs.push_back(static_cast<ValueId>(i));
    }
    return evaluate_control_flow(node, model, inputs, {});
  }
};

TEST(ControlFlow, ALoopThatNeverRunsHasEmptySlices) {
  Harness harness(16);
  add_input(*harness.body, "i");
  const ValueId go_on = add_input(*harness.body, "go_on");
  const ValueId x = add_input(*harness.body, "x");
  harness.body->value(x).type = ElementType::Float64;
  harness.body->value(x).shape = graph::SymbolicShape{3, graph::Dimension()};
  harness.body->outputs = {go_on, x, x};
  const Tensor start = Tensor::of<double>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto results = harness.run("Loop", {Tensor::scalar(int64_t{0}), {}, start});
  ASSERT_EQ(results.size(), 2U);
  EXPECT_TRUE(identical(results[0], start));
  EXPECT_EQ(results[1].shape(), (Shape{0, 3, 0}));
  EXPECT_EQ(results[1].type(), ElementType::Float64);
}

TEST(ControlFlow, ScanRunsBackwardsAndAlongOtherAxes) {
  Harness harness(16);
  const ValueId sum = add_input(*harness.body, "sum"), x = add_input(*harness.body, "x");
  const ValueId next = harness.body->add_node("Add", {sum, x});
  harness.body->outputs = {next, next};
  const Tensor table = Tensor::of<float>({2, 3}, {1, 2, 3, 10, 20, 30});
  const auto results = harness.run("Scan", {Tensor::of<float>({2}, {0, 0}), table},
                                   {{"num_scan_inputs", int64_t{1}},
                                    {"scan_input_axes", std::vector<int64_t>{1}},
                                    {"scan_input_directions", std::vector<int64_t>{1}},
                                    {"scan_output_axes", std::vector<int64_t>{-1}},
                                    {"scan_output_directions", std::vector<int64_t>{1}}});
  EXPECT_TRUE(identical(results.at(0), Tensor::of<float>({2}, {6, 60})));
  EXPECT_TRUE(identical(results.at(1), Tensor::of<float>({2, 3}, {6, 5, 3, 60, 50, 30})));
}

TEST(ControlFlow, ScanOfOperatorSet8PadsShorterSequences) {
  Harness harness(8);
  const ValueId sum = add_input(*harness.body, "sum"), x = add_input(*harness.body, "x");
  const ValueId next = harness.body->add_node("Add", {sum, x});
  harness.body->outputs = {next, next};
  const auto results =
      harness.run("Scan",
                  {Tensor::of<int64_t>({2}, {3, 1}), Tensor::of<float>({2}, {0, 100}),
                   Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                  {{"num_scan_inputs", int64_t{1}}});
  EXPECT_TRUE(identical(results.at(0), Tensor::of<float>({2}, {6, 104})));
  EXPECT_TRUE(identical(results.at(1), Tensor::of<float>({2, 3}, {1, 3, 6, 104, 0, 0})));
}

TEST(ControlFlow, SequenceMapTakesSequencesAndTensors) {
  Harness harness(17);
  const ValueId a = add_input(*harness.body, "a"), b = add_input(*harness.body, "b");
  const ValueId c = add_input(*harness.body, "c");
  harness.body->outputs = {harness.body->add_node("Sum", {a, b, c})};
  const auto one = [](float x) { return Tensor::of<float>({1}, {x}); };
  const auto results = harness.run("SequenceMap", {Tensor::sequence({one(1), one(2)}),
                                                   Tensor::sequence({one(10), one(20)}), one(100)});
  EXPECT_TRUE(identical(results.at(0), Tensor::sequence({one(111), one(122)})));
  EXPECT_THROW(
      harness.run("SequenceMap", {Tensor::sequence({one(1)}), Tensor::sequence({}), one(0)}),
      UserError);
}

}  // namespace
}  // namespace opsmith::executor
