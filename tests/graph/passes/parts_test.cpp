#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "graph/operators/operator.h"
#include "graph/passes/passes.h"
#include "graph/passes/pattern.h"
#include "graph/passes/rewriting.h"
#include "tests/graph/builders.h"
#include "tests/support/temporary_folder.h"

// What passes are made of: patterns, rewriting, the registry; and the inference of one node.

namespace opsmith::graph {
namespace {

using opsmith::testing::add_input;
using opsmith::testing::model_of;
using opsmith::testing::set_output;
using opsmith::testing::user_error;
using ::testing::HasSubstr;

TEST(Pattern, ReadsTheGraphBackwards) {
  Graph graph;
  const ValueId x = add_input(graph, "x", {2, 3});
  const ValueId half = graph.add_constant("half", Tensor::scalar<float>(0.5F));
  const ValueId scaled = graph.add_node("Mul", {x, half});
  const ValueId foreign = graph.add_node("Mul", {x, half}, {}, 1, "elsewhere");
  const ValueId relu = graph.add_node("Relu", {scaled});
  set_output(graph, relu, "y");
  const Pattern pattern(graph);
  ASSERT_NE(pattern.made_by(relu, "Relu"), nullptr);
  EXPECT_EQ(pattern.made_by(relu, "Relu")->input(0), scaled);
  EXPECT_NE(pattern.made_by(scaled, "Mul"), nullptr);
  EXPECT_EQ(pattern.made_by(scaled, "Add"), nullptr);
  EXPECT_EQ(pattern.made_by(foreign, "Mul"), nullptr) << "not ONNX's own";
  EXPECT_EQ(pattern.made_by(x, "Mul"), nullptr) << "an input";
  EXPECT_EQ(pattern.made_by(half, "Constant"), nullptr) << "a constant";
  EXPECT_EQ(pattern.made_by(kNoValue, "Mul"), nullptr);

  const auto mul = pattern.with_constant(*pattern.made_by(scaled, "Mul"));
  ASSERT_TRUE(mul);
  EXPECT_EQ(mul->other, x);
  EXPECT_EQ(mul->constant, half);
  EXPECT_FALSE(pattern.with_constant(*pattern.made_by(relu, "Relu"))) << "one input";
}

TEST(Pattern, FindsTheConstantOnEitherSide) {
  Graph graph;
  const ValueId x = add_input(graph, "x", {2});
  const ValueId c = graph.add_constant("c", Tensor::scalar<float>(2));
  graph.add_node("Sub", {c, x});
  graph.add_node("Sub", {x, x});
  graph.add_node("Where", {x, c, x});
  graph.add_node("Optional", {kNoValue, c});
  const Pattern pattern(graph);
  const auto found = pattern.with_constant(graph.nodes[0]);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->constant, c);
  EXPECT_EQ(found->other, x);
  EXPECT_FALSE(pattern.with_constant(graph.nodes[1]));
  EXPECT_FALSE(pattern.with_constant(graph.nodes[2])) << "three inputs";
  EXPECT_EQ(pattern.with_constant(graph.nodes[3])->other, kNoValue);
}

TEST(Pattern, NumbersAreConstantsOfOneElementNearby) {
  Graph graph;
  const ValueId x = add_input(graph, "x", {1});
  const auto number = [&](Tensor tensor) { return graph.add_constant("c", std::move(tensor)); };
  const ValueId half = number(Tensor::scalar<float>(0.5F));
  const ValueId root = number(Tensor::of<double>({1, 1}, {1.41421356}));
  const ValueId three = number(Tensor::scalar<int64_t>(3));
  const ValueId two = number(Tensor::of<float>({2}, {0.5F, 0.5F}));
  const ValueId text = number(Tensor::scalar<std::string>("0.5"));
  const ValueId zero = number(Tensor::scalar<float>(0));
  const Pattern pattern(graph);
  EXPECT_TRUE(pattern.is_number(half, 0.5));
  EXPECT_FALSE(pattern.is_number(half, 0.50001));
  EXPECT_FALSE(pattern.is_number(half, -0.5));
  EXPECT_TRUE(pattern.is_number(root, std::sqrt(2.0)));
  EXPECT_TRUE(pattern.is_number(three, 3));
  EXPECT_TRUE(pattern.is_number(zero, 0));
  EXPECT_FALSE(pattern.is_number(two, 0.5));
  EXPECT_FALSE(pattern.is_number(text, 0.5));
  EXPECT_FALSE(pattern.is_number(x, 0.5));
  EXPECT_FALSE(pattern.is_number(kNoValue, 0.5));
}

TEST(Rewriting, TheOnlyReaderReadsOnce) {
  Graph graph;
  const ValueId x = add_input(graph, "x", {2});
  const ValueId once = graph.add_node("Relu", {x});
  const ValueId twice = graph.add_node("Relu", {once});
  const ValueId squared = graph.add_node("Mul", {twice, twice});
  const ValueId last = graph.add_node("Relu", {squared});
  graph.add_node("Relu", {last});
  set_output(graph, last, "y");
  const auto consumers = graph.consumers();
  EXPECT_EQ(only_reader(graph, consumers, once), 1);
  EXPECT_EQ(only_reader(graph, consumers, twice), -1) << "by one node, but two times";
  EXPECT_EQ(only_reader(graph, consumers, squared), 3);
  EXPECT_EQ(only_reader(graph, consumers, last), -1) << "an output";
  EXPECT_EQ(only_reader(graph, consumers, graph.nodes[4].output(0)), -1) << "nobody";
}

TEST(Rewriting, RedirectKeepsTheGraphsNames) {
  Graph graph;
  const ValueId x = add_input(graph, "x", {2});
  const ValueId copy = graph.add_node("Identity", {x});
  graph.value(copy).type = ElementType::Float32;
  set_output(graph, copy, "y");
  EXPECT_FALSE(redirect(graph, copy, x)) << "an input cannot be called y";
  EXPECT_EQ(graph.outputs, std::vector<ValueId>{copy});
  const ValueId made = graph.add_node("Relu", {x});
  graph.value(copy).shape = SymbolicShape{2};
  EXPECT_TRUE(redirect(graph, copy, made));
  EXPECT_EQ(graph.outputs, std::vector<ValueId>{made});
  EXPECT_EQ(graph.value(made).name, "y");
  EXPECT_EQ(graph.value(made).type, ElementType::Float32) << "handed over";
  EXPECT_EQ(graph.value(made).shape, SymbolicShape{2});
}

TEST(PassRegistry, NamesEveryPassOnce) {
  std::set<std::string> names;
  for (const Pass& pass : all_passes()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_EQ(pass.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string::npos);
    EXPECT_FALSE(pass.summary.empty());
    Model empty = model_of(17);
    EXPECT_EQ(pass.run(empty, {}), 0) << pass.name << " of an empty model, without an evaluator";
  }
}

TEST(PassRegistry, SimplifyingTwiceChangesNothingMore) {
  Model model = model_of(17);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {2, 3});
  const ValueId same = graph.add_node("Identity", {x});
  const ValueId a = graph.add_node("Relu", {same});
  const ValueId b = graph.add_node("Relu", {x});
  graph.add_node("Sigmoid", {a});
  set_output(graph, graph.add_node("Add", {a, b}), "y");
  const auto counts = simplify(model, {});
  ASSERT_EQ(counts.size(), all_passes().size());
  int changes = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    EXPECT_EQ(counts[i].name, all_passes()[i].name);
    changes += counts[i].changes;
  }
  EXPECT_GE(changes, 3);
  EXPECT_EQ(opsmith::testing::node_types(model.graph), (std::vector<std::string>{"Relu", "Add"}));
  EXPECT_EQ(model.graph.value(model.graph.outputs[0]).shape, (SymbolicShape{2, 3}));
  for (const PassCount& count : simplify(model, {})) EXPECT_EQ(count.changes, 0) << count.name;
}

/// A node with three inputs, the second of them absent.
class OneNode : public ::testing::Test {
 protected:
  OneNode() {
    node.name = "tested";
    node.type = "Some";
    node.inputs = {0, kNoValue, 2};
    node.outputs = {3};
    node.attributes["axes"] = std::vector<int64_t>{1, -1};
  }
  Inference infer(int64_t opset) {
    ValueInfo data, axes;
    data.type = ElementType::Float32;
    data.shape = SymbolicShape{2, Dimension::named("N"), 4};
    axes.type = ElementType::Int64;
    axes.shape = SymbolicShape{2};
    axes.elements = known;
    return {node, opset, {data, {}, axes}, {}};
  }
  Node node;
  Elements known = {0, 2};
};

TEST_F(OneNode, InferenceKnowsItsInputs) {
  const Inference inference = infer(17);
  EXPECT_TRUE(inference.has_input(0));
  EXPECT_FALSE(inference.has_input(1));
  EXPECT_FALSE(inference.has_input(9));
  EXPECT_FALSE(inference.has_output(1));
  EXPECT_EQ(inference.type(0), ElementType::Float32);
  EXPECT_EQ(inference.type(1), ElementType::Undefined);
  EXPECT_EQ(inference.type(9), ElementType::Undefined) << "beyond the node's inputs";
  EXPECT_EQ(inference.shape(1), nullptr);
  ASSERT_NE(inference.shape(0), nullptr);
  EXPECT_EQ(inference.shape(0)->size(), 3U);
  EXPECT_EQ(inference.elements(0), nullptr);
  EXPECT_EQ(inference.numbers(2), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(inference.constant(0), nullptr);
}

TEST_F(OneNode, InferenceTellsSettingsOfEitherForm) {
  // Up to opset 12 the attribute holds them, from 13 on input 2.
  const auto before = infer(12).attribute_or_input("axes", 13, 2);
  EXPECT_TRUE(before.given);
  EXPECT_EQ(before.values, (std::vector<int64_t>{1, -1}));
  const auto since = infer(13).attribute_or_input("axes", 13, 2);
  EXPECT_TRUE(since.given);
  EXPECT_EQ(since.values, (std::vector<int64_t>{0, 2}));
  EXPECT_FALSE(infer(13).attribute_or_input("axes", 13, 1).given) << "absent";
  EXPECT_FALSE(infer(12).attribute_or_input("other", 13, 2).given);
  known = {Dimension::named("N"), 2};
  const auto partly = infer(13).attribute_or_input("axes", 13, 2);
  EXPECT_TRUE(partly.given);
  EXPECT_FALSE(partly.values) << "not all are numbers";
}

TEST_F(OneNode, InferenceNamesTheNodeAtFault) {
  const Inference inference = infer(17);
  EXPECT_EQ(inference.axis(-1, 3), 2U);
  EXPECT_EQ(inference.axis(2, 3), 2U);
  for (const int64_t axis : {int64_t{3}, int64_t{-4}, INT64_MAX, INT64_MIN}) {
    EXPECT_THAT(user_error([&] { inference.axis(axis, 3); }), HasSubstr("tested"));
  }
  EXPECT_EQ(user_error([&] { inference.expect_rank(0, 3, 3); }), "");
  EXPECT_THAT(user_error([&] { inference.expect_rank(0, 1, 2); }), HasSubstr("tested"));
  EXPECT_EQ(user_error([&] { inference.expect_rank(1, 1, 2); }), "") << "not known";
  EXPECT_THAT(user_error([&] { inference.fail("why"); }), HasSubstr("why"));
}

TEST(OperatorDefinition, IsFoundByName) {
  ASSERT_NE(find_operator("Conv"), nullptr);
  EXPECT_EQ(find_operator("Conv")->type, "Conv");
  EXPECT_EQ(find_operator("conv"), nullptr);
  EXPECT_EQ(find_operator(""), nullptr);
}

TEST(OperatorDefinition, EveryFormOfConstantHasItsValue) {
  const auto value = [](const std::string& attribute, Attribute held) {
    Node node;
    node.type = "Constant";
    node.attributes[attribute] = std::move(held);
    return constant_value(node);
  };
  EXPECT_TRUE(identical(value("value_int", int64_t{7}), Tensor::scalar<int64_t>(7)));
  EXPECT_TRUE(identical(value("value_float", 0.5F), Tensor::scalar<float>(0.5F)));
  EXPECT_TRUE(
      identical(value("value_ints", std::vector<int64_t>{1, 2}), Tensor::of<int64_t>({2}, {1, 2})));
  EXPECT_TRUE(identical(value("value_floats", std::vector<float>{}), Tensor::of<float>({0}, {})));
  EXPECT_TRUE(identical(value("value", Tensor::scalar<int8_t>(3)), Tensor::scalar<int8_t>(3)));
  EXPECT_TRUE(identical(value("value_string", std::string("a")), Tensor::scalar<std::string>("a")));
  EXPECT_FALSE(value("other", int64_t{7}).defined());
}

}  // namespace
}  // namespace opsmith::graph
