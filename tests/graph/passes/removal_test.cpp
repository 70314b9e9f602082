#include "tests/graph/passes/pass_test.h"

namespace opsmith::graph {
namespace {

using namespace opsmith::testing;  // NOLINT: builders of graphs
using Integers = std::vector<int64_t>;

/// x [N, 4] -> Relu -> the node -> Relu -> y.
struct Between {
  int64_t opset = 13;
  std::string type;
  Attributes attributes;
  std::vector<Tensor> constants;
  SymbolicShape shape = {symbol("N"), 4};

  Model model() const {
    Model result = model_of(opset);
    Graph& graph = result.graph;
    std::vector<ValueId> ids = {graph.add_node("Relu", {add_input(graph, "x", shape)})};
    for (const Tensor& tensor : constants) {
      ids.push_back(tensor.defined() ? graph.add_constant("c", tensor) : kNoValue);
    }
    const ValueId id = graph.add_node(type, ids, attributes);
    set_output(graph, graph.add_node("Relu", {id}), "y");
    return result;
  }
  int removed() const {
    Model result = model();
    return run_pass(remove_identities, result);
  }
};

Tensor integers(const Integers& values) {
  return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
}

TEST(IdentityRemoval, NodesThatChangeNothing) {
  const Tensor none;
  for (const Between& node : std::vector<Between>{
           {13, "Identity", {}, {}},
           {13, "Dropout", {}, {Tensor::scalar(0.5f)}},
           {6, "Dropout", {{"is_test", int64_t{1}}}, {}},
           {13, "Cast", {{"to", int64_t{1}}}, {}},
           {13, "Transpose", {{"perm", Integers{0, 1}}}, {}},
           {13, "Reshape", {}, {integers({-1, 4})}},
           {13, "Reshape", {}, {integers({0, 4})}},
           {13, "Flatten", {}, {}},
           {13, "Slice", {}, {integers({0}), integers({INT64_MAX}), integers({0})}},
           {13, "Pad", {}, {integers({0, 0, 0, 0})}},
           {13, "Tile", {}, {integers({1, 1})}},
           {13, "Expand", {}, {integers({1, 1})}},
           {13, "Concat", {{"axis", int64_t{0}}}, {}},
           {13, "Sum", {}, {}},
           {13, "Add", {}, {Tensor::scalar(0.0f)}},
           {13, "Div", {}, {Tensor::scalar(1.0f)}},
       }) {
    EXPECT_EQ(node.removed(), 1) << node.type;
  }
}

TEST(IdentityRemoval, NotNodesThatDoSomething) {
  const Tensor yes = Tensor::of<bool>({}, {true});
  for (const Between& node : std::vector<Between>{
           {13, "Dropout", {}, {Tensor::scalar(0.5f), yes}},
           {6, "Dropout", {}, {}},
           {13, "Cast", {{"to", int64_t{11}}}, {}},
           {13, "Transpose", {}, {}},
           {13, "Reshape", {}, {integers({4, -1})}},
           {13, "Slice", {}, {integers({0}), integers({3}), integers({0})}},
           {13,
            "Slice",
            {},
            {integers({-1}), integers({INT64_MIN}), integers({0}), integers({-1})}},
           {13, "Pad", {}, {integers({1, 0, -1, 0})}},
           {13, "Expand", {}, {integers({2, 1, 1})}},
           {13, "Add", {}, {Tensor::scalar(1.0f)}},
           {13, "Mul", {}, {Tensor::scalar(0.0f)}},
           {13, "Add", {}, {Tensor::zeros(ElementType::Float32, {1, 1, 1})}},
           {13, "Sum", {}, {Tensor::scalar(0.0f)}},
       }) {
    EXPECT_EQ(node.removed(), 0) << node.type;
  }
}

TEST(IdentityRemoval, NamesOfInputsAndOutputsStay) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {4});
  set_output(graph, graph.add_node("Identity", {x}), "same");
  const ValueId y = graph.add_node("Relu", {x});
  set_output(graph, graph.add_node("Identity", {y}), "out");
  EXPECT_EQ(run_pass(remove_identities, model), 1);
  EXPECT_EQ(node_types(graph), (std::vector<std::string>{"Identity", "Relu"}));
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "same");
  EXPECT_EQ(graph.value(graph.outputs[1]).name, "out");
  EXPECT_EQ(graph.outputs[1], y);
}

TEST(IdentityRemoval, AMaskThatIsReadKeepsItsDropout) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {4});
  const ValueId y = graph.add_node("Relu", {x});
  const ValueId dropped = graph.add_node("Dropout", {y}, {}, 2);
  set_output(graph, graph.add_node("Relu", {dropped}), "y");
  set_output(graph, graph.nodes[1].output(1), "mask");
  EXPECT_EQ(run_pass(remove_identities, model), 0);
}

TEST(IdentityRemoval, BodiesFollow) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId condition = add_input(graph, "condition", {}, ElementType::Bool);
  const ValueId x = add_input(graph, "x", {4});
  const ValueId same = graph.add_node("Identity", {x});
  auto body = std::make_shared<Graph>();
  Value captured;
  captured.name = graph.value(same).name;
  captured.captured = true;
  const ValueId inner = body->add_value(captured);
  const ValueId copy = body->add_node("Identity", {inner});
  body->outputs = {body->add_node("Relu", {copy})};
  set_output(graph,
             graph.add_node("If", {condition}, {{"then_branch", body}, {"else_branch", body}}),
             "y");
  EXPECT_EQ(run_pass(remove_identities, model), 3);
  for_each_subgraph(std::as_const(graph.nodes[0]), [](const Graph& branch) {
    EXPECT_EQ(branch.captures(), std::vector<std::string>{"x"});
    EXPECT_EQ(node_types(branch), std::vector<std::string>{"Relu"});
  });
}

TEST(DeadCodeRemoval, WhatNoOutputNeeds) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {4});
  const ValueId a = graph.add_node("Relu", {x});
  graph.add_node("Neg", {a});
  auto body = std::make_shared<Graph>();
  Value captured;
  captured.name = graph.value(a).name;
  captured.captured = true;
  body->outputs = {body->add_value(captured)};
  set_output(graph, graph.add_node("If", {x}, {{"then_branch", body}, {"else_branch", body}}), "y");
  EXPECT_EQ(run_pass(remove_dead_code, model), 1);
  EXPECT_EQ(node_types(graph), (std::vector<std::string>{"Relu", "If"}));
  EXPECT_EQ(run_pass(remove_dead_code, model), 0);
}

TEST(DuplicateRemoval, EqualConstantsAndNodes) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {4});
  const ValueId c = graph.add_constant("c", Tensor::of<float>({1}, {2}));
  const ValueId d = graph.add_constant("d", Tensor::of<float>({1}, {2}));
  const ValueId a = graph.add_node("Mul", {x, c});
  const ValueId b = graph.add_node("Mul", {x, d});
  set_output(graph, graph.add_node("Sub", {a, b}), "y");
  EXPECT_EQ(run_pass(merge_duplicates, model), 2);
  ASSERT_EQ(node_types(graph), (std::vector<std::string>{"Mul", "Sub"}));
  EXPECT_EQ(graph.nodes[1].inputs, (std::vector<ValueId>{a, a}));
}

TEST(DuplicateRemoval, NotWhatDiffers) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {4, 4});
  const ValueId c = graph.add_constant("c", Tensor::of<float>({1}, {2}));
  const ValueId d = graph.add_constant("d", Tensor::of<float>({1, 1}, {2}));
  const ValueId e = graph.add_constant("e", Tensor::of<float>({1}, {3}));
  std::vector<ValueId> ids;
  for (const ValueId constant : {c, d, e}) ids.push_back(graph.add_node("Mul", {x, constant}));
  ids.push_back(graph.add_node("Softmax", {x}, {{"axis", int64_t{0}}}));
  ids.push_back(graph.add_node("Softmax", {x}, {{"axis", int64_t{1}}}));
  ids.push_back(graph.add_node("RandomUniformLike", {x}));
  ids.push_back(graph.add_node("RandomUniformLike", {x}));
  set_output(graph, graph.add_node("Sum", ids), "y");
  EXPECT_EQ(run_pass(merge_duplicates, model), 0);
}

TEST(DuplicateRemoval, TwoOutputsStayTwo) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {4});
  set_output(graph, graph.add_node("Relu", {x}), "a");
  set_output(graph, graph.add_node("Relu", {x}), "b");
  EXPECT_EQ(run_pass(merge_duplicates, model), 0);
  const ValueId again = graph.add_node("Relu", {x});
  set_output(graph, graph.add_node("Neg", {again}), "c");
  EXPECT_EQ(run_pass(merge_duplicates, model), 1);
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "a");
}

TEST(Simplify, ReachesAFixpointAndCounts) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {symbol("N"), 2, 2});
  const ValueId shape = graph.add_node("Constant", {}, {{"value_ints", Integers{0, 2, 2}}});
  const ValueId same = graph.add_node("Reshape", {x, shape});
  set_output(graph, graph.add_node("Relu", {same}), "y");
  int total = 0;
  for (const PassCount& count : simplify(model, {})) total += count.changes;
  EXPECT_EQ(total, 2);
  EXPECT_EQ(node_types(model.graph), std::vector<std::string>{"Relu"});
  for (const PassCount& count : simplify(model, {})) EXPECT_EQ(count.changes, 0) << count.name;
  EXPECT_EQ(to_string(*model.graph.value(model.graph.outputs[0]).shape), "[N, 2, 2]");
}

}  // namespace
}  // namespace opsmith::graph
