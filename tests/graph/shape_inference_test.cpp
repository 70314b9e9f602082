#include "graph/shape_inference.h"

#include "support/error.h"
#include "tests/graph/builders.h"

namespace opsmith::graph {
namespace {

using namespace opsmith::testing;  // NOLINT: builders of graphs

/// What is inferred for the outputs of a single node, "[N, 3]", inputs of these shapes given.
struct OneNode {
  int64_t opset = 17;
  std::string type;
  std::vector<SymbolicShape> inputs;
  Attributes attributes;
  /// Constant inputs after the others; an undefined tensor is an absent input.
  std::vector<Tensor> constants;
  size_t outputs = 1;

  Model model() const {
    Model result = model_of(opset);
    Graph& graph = result.graph;
    std::vector<ValueId> ids;
    for (const SymbolicShape& shape : inputs) {
      ids.push_back(add_input(graph, "x" + std::to_string(ids.size()), shape));
    }
    for (const Tensor& tensor : constants) {
      ids.push_back(tensor.defined() ? graph.add_constant("c", tensor) : kNoValue);
    }
    graph.add_node(type, ids, attributes, outputs, "", "node");
    graph.outputs = graph.nodes[0].outputs;
    return result;
  }
  std::string shape(size_t output = 0) const {
    Model result = model();
    infer_shapes(result);
    const Value& value = result.graph.value(result.graph.outputs.at(output));
    return value.shape ? to_string(*value.shape) : "unknown";
  }
  std::string refusal() const {
    try {
      shape();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
};

Tensor integers(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
}
using Integers = std::vector<int64_t>;

TEST(ShapeInference, Convolution) {
  const Dimension n = symbol("N");
  OneNode conv{17, "Conv", {{n, 3, 224, 224}, {64, 3, 7, 7}}, {}, {}};
  EXPECT_EQ(conv.shape(), "[N, 64, 218, 218]");
  conv.attributes = {{"strides", Integers{2, 2}}, {"pads", Integers{3, 3, 3, 3}}};
  EXPECT_EQ(conv.shape(), "[N, 64, 112, 112]");
  conv.inputs[0] = {n, 3, symbol("H"), 224};
  EXPECT_EQ(conv.shape(), "[N, 64, (H + 1) / 2, 112]");
  conv.attributes = {{"pads", Integers{3, 3, 3, 3}}};
  EXPECT_EQ(conv.shape(), "[N, 64, H, 224]");
  conv.attributes = {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Integers{2, 2}}};
  conv.inputs[0] = {n, 3, 15, 16};
  EXPECT_EQ(conv.shape(), "[N, 64, 8, 8]");
  conv.attributes = {{"dilations", Integers{2, 2}}};
  EXPECT_EQ(conv.shape(), "[N, 64, 3, 4]");
  conv.inputs[0] = {n, 6, 15, 16};
  EXPECT_NE(conv.refusal().find("Conv 'node'"), std::string::npos);
  conv.attributes = {{"group", int64_t{2}}};
  EXPECT_EQ(conv.shape(), "[N, 64, 9, 10]");
  conv.inputs[0] = {n, 6, 5, 5};
  EXPECT_NE(conv.refusal(), "");
}

TEST(ShapeInference, HostileAttributesAreRefused) {
  OneNode conv{17, "Conv", {{1, 3, 8, 8}, {4, 3, 3, 3}}, {}, {}};
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, Attribute>>{{"strides", Integers{0, 1}},
                                                      {"strides", Integers{1}},
                                                      {"dilations", Integers{1, -1}},
                                                      {"pads", Integers{INT64_MAX, 1, 1, 1}},
                                                      {"group", int64_t{0}},
                                                      {"group", INT64_MIN},
                                                      {"kernel_shape", Integers{5, 5}},
                                                      {"auto_pad", std::string("SOME")},
                                                      {"strides", 1.0f}}) {
    conv.attributes = {{name, value}};
    EXPECT_NE(conv.refusal().find("Conv 'node'"), std::string::npos) << name;
  }
}

TEST(ShapeInference, TransposedConvolution) {
  OneNode conv{11, "ConvTranspose", {{1, 8, 10, symbol("W")}, {8, 4, 2, 2}}, {}, {}};
  conv.attributes = {{"strides", Integers{2, 2}}};
  EXPECT_EQ(conv.shape(), "[1, 4, 20, ((W - 1) * 2) + 2]");
  conv.attributes = {{"strides", Integers{2, 2}}, {"output_padding", Integers{1, 1}}};
  conv.inputs[0] = {1, 8, 10, 10};
  EXPECT_EQ(conv.shape(), "[1, 4, 21, 21]");
}

TEST(ShapeInference, Pooling) {
  OneNode pool{17, "MaxPool", {{1, 8, 32, 32}}, {}, {}};
  pool.attributes = {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}};
  EXPECT_EQ(pool.shape(), "[1, 8, 15, 15]");
  pool.attributes["ceil_mode"] = int64_t{1};
  EXPECT_EQ(pool.shape(), "[1, 8, 16, 16]");
  // The last window would begin in the end padding, and is dropped.
  pool.inputs = {{1, 8, 5, 5}};
  pool.attributes = {
      {"kernel_shape", Integers{1, 1}}, {"strides", Integers{3, 3}}, {"ceil_mode", int64_t{1}}};
  EXPECT_EQ(pool.shape(), "[1, 8, 2, 2]");
  pool.attributes = {{"kernel_shape", Integers{2, 2}},
                     {"strides", Integers{2, 2}},
                     {"pads", Integers{0, 0, 1, 1}},
                     {"ceil_mode", int64_t{1}}};
  pool.inputs = {{1, 8, 4, 4}};
  EXPECT_EQ(pool.shape(), "[1, 8, 2, 2]");
  const OneNode global{17, "GlobalAveragePool", {{symbol("N"), 8, symbol("H"), 4}}, {}, {}};
  EXPECT_EQ(global.shape(), "[N, 8, 1, 1]");
}

TEST(ShapeInference, BroadcastAndMatrices) {
  const Dimension n = symbol("N");
  EXPECT_EQ((OneNode{17, "Add", {{n, 3, 1}, {4}}, {}, {}}.shape()), "[N, 3, 4]");
  EXPECT_EQ((OneNode{17, "Add", {{n}, {symbol("M")}}, {}, {}}.shape()), "[?]");
  EXPECT_NE((OneNode{17, "Add", {{3}, {4}}, {}, {}}.refusal()), "");
  EXPECT_EQ(
      (OneNode{6, "Add", {{n, 3, 8}, {3}}, {{"broadcast", int64_t{1}}, {"axis", int64_t{1}}}, {}}
           .shape()),
      "[N, 3, 8]");
  EXPECT_EQ((OneNode{17, "MatMul", {{n, 7, 5}, {5, 2}}, {}, {}}.shape()), "[N, 7, 2]");
  EXPECT_EQ((OneNode{17, "MatMul", {{5}, {n, 5, 2}}, {}, {}}.shape()), "[N, 2]");
  EXPECT_NE((OneNode{17, "MatMul", {{n, 7, 5}, {6, 2}}, {}, {}}.refusal()), "");
  EXPECT_EQ((OneNode{17, "Gemm", {{n, 5}, {2, 5}, {2}}, {{"transB", int64_t{1}}}, {}}.shape()),
            "[N, 2]");
  EXPECT_NE((OneNode{17, "Gemm", {{n, 5}, {2, 5}}, {}, {}}.refusal()), "");
  EXPECT_EQ(
      (OneNode{
          17, "Einsum", {{n, 2, 3}, {n, 3, 4}}, {{"equation", std::string("bij, bjk -> bik")}}, {}}
           .shape()),
      "[N, 2, 4]");
}

TEST(ShapeInference, ReductionsFollowTheirOpset) {
  const Dimension n = symbol("N");
  OneNode mean{17, "ReduceMean", {{n, 3, 4}}, {{"axes", Integers{-1}}}, {}};
  EXPECT_EQ(mean.shape(), "[N, 3, 1]");
  mean.attributes["keepdims"] = int64_t{0};
  EXPECT_EQ(mean.shape(), "[N, 3]");
  mean = {18, "ReduceMean", {{n, 3, 4}}, {}, {integers({1})}};
  EXPECT_EQ(mean.shape(), "[N, 1, 4]");
  mean.opset = 17;  // the second input is none of its own then
  EXPECT_EQ(mean.shape(), "[1, 1, 1]");
  EXPECT_EQ((OneNode{13, "ReduceSum", {{n, 3}}, {}, {integers({0})}}.shape()), "[1, 3]");
  EXPECT_EQ(
      (OneNode{13, "ReduceSum", {{n, 3}}, {{"noop_with_empty_axes", int64_t{1}}}, {integers({})}}
           .shape()),
      "[N, 3]");
  EXPECT_NE((OneNode{17, "ReduceMax", {{n, 3}}, {{"axes", Integers{2}}}, {}}.refusal()), "");
}

TEST(ShapeInference, ReshapeKeepsSymbols) {
  const SymbolicShape x = {symbol("N"), 40, symbol("W"), 6};
  EXPECT_EQ((OneNode{17, "Reshape", {x}, {}, {integers({0, -1, 240})}}.shape()), "[N, W, 240]");
  EXPECT_EQ((OneNode{17, "Reshape", {x}, {}, {integers({-1, 6})}}.shape()), "[40 * (N * W), 6]");
  EXPECT_EQ((OneNode{17, "Reshape", {{2, 3, 4}}, {}, {integers({0, -1})}}.shape()), "[2, 12]");
  EXPECT_NE((OneNode{17, "Reshape", {{2, 3, 4}}, {}, {integers({5, -1})}}.refusal()), "");
  EXPECT_NE((OneNode{17, "Reshape", {{2, 3}}, {}, {integers({-1, -1})}}.refusal()), "");
  EXPECT_NE((OneNode{17, "Reshape", {{2, 3}}, {}, {integers({4, 2})}}.refusal()), "");
  EXPECT_EQ((OneNode{4, "Reshape", {{2, 3}}, {{"shape", Integers{3, -1}}}, {}}.shape()), "[3, 2]");
  EXPECT_EQ((OneNode{17, "Flatten", {{symbol("N"), 512, 1, 1}}, {}, {}}.shape()), "[N, 512]");
  EXPECT_EQ((OneNode{17, "Squeeze", {{symbol("N"), 1, 4}}, {}, {integers({1})}}.shape()), "[N, 4]");
  EXPECT_EQ((OneNode{11, "Squeeze", {{1, 1, 4}}, {{"axes", Integers{-2}}}, {}}.shape()), "[1, 4]");
  EXPECT_EQ((OneNode{13, "Unsqueeze", {{4}}, {}, {integers({0, -1})}}.shape()), "[1, 4, 1]");
  EXPECT_EQ((OneNode{11, "Unsqueeze", {{4}}, {{"axes", Integers{0}}}, {}}.shape()), "[1, 4]");
  EXPECT_EQ((OneNode{17, "Transpose", {x}, {{"perm", Integers{0, 2, 1, 3}}}, {}}.shape()),
            "[N, W, 40, 6]");
  EXPECT_NE((OneNode{17, "Transpose", {x}, {{"perm", Integers{0, 0, 1, 3}}}, {}}.refusal()), "");
}

TEST(ShapeInference, SlicesAndParts) {
  const SymbolicShape x = {10, symbol("W")};
  const auto slice = [&](Integers starts, Integers ends, Integers axes, Integers steps) {
    return OneNode{
        17, "Slice", {x}, {}, {integers(starts), integers(ends), integers(axes), integers(steps)}}
        .shape();
  };
  EXPECT_EQ(slice({2}, {7}, {0}, {2}), "[3, W]");
  EXPECT_EQ(slice({-1}, {INT64_MIN}, {0}, {-1}), "[10, W]");
  EXPECT_EQ(slice({-4}, {INT64_MAX}, {0}, {1}), "[4, W]");
  EXPECT_EQ(slice({8}, {3}, {0}, {1}), "[0, W]");
  EXPECT_EQ(slice({1}, {INT64_MAX}, {1}, {1}), "[10, W - 1]");
  EXPECT_EQ(slice({0}, {-1}, {1}, {1}), "[10, W - 1]");
  EXPECT_EQ(slice({0}, {3}, {1}, {1}), "[10, min(W, 3)]");
  EXPECT_EQ(
      (OneNode{9, "Slice", {x}, {{"starts", Integers{1}}, {"ends", Integers{3}}}, {}}.shape()),
      "[2, W]");
  OneNode split{17, "Split", {x}, {}, {integers({3, 7})}, 2};
  EXPECT_EQ(split.shape(1), "[7, W]");
  split.constants = {};
  EXPECT_EQ(split.shape(1), "[5, W]");
  split.constants = {integers({3, 8})};
  EXPECT_NE(split.refusal(), "");
  split = {18, "Split", {{7}}, {{"num_outputs", int64_t{2}}}, {}, 2};
  EXPECT_EQ(split.shape(0) + split.shape(1), "[4][3]");
  EXPECT_EQ((OneNode{17, "Concat", {x, x}, {{"axis", int64_t{0}}}, {}}.shape()), "[20, W]");
  EXPECT_NE((OneNode{17, "Concat", {{2, 3}, {2, 4}}, {{"axis", int64_t{0}}}, {}}.refusal()), "");
  EXPECT_EQ((OneNode{13, "Pad", {{3, symbol("W")}}, {}, {integers({1, 0, 2, 1})}}.shape()),
            "[6, W + 1]");
  EXPECT_EQ((OneNode{10, "Pad", {{3, 4}}, {{"pads", Integers{1, 0, 0, 1}}}, {}}.shape()), "[4, 5]");
  EXPECT_EQ((OneNode{17, "Tile", {{3, symbol("W")}}, {}, {integers({2, 1})}}.shape()), "[6, W]");
}

TEST(ShapeInference, Resizing) {
  const Tensor scales = Tensor::of<float>({4}, {1, 1, 2, 2});
  const SymbolicShape x = {1, 3, 5, symbol("W")};
  EXPECT_EQ((OneNode{13, "Resize", {x}, {}, {Tensor(), scales}}.shape()), "[1, 3, 10, W * 2]");
  EXPECT_EQ((OneNode{10, "Resize", {x}, {}, {scales}}.shape()), "[1, 3, 10, W * 2]");
  EXPECT_EQ((OneNode{9, "Upsample", {x}, {}, {scales}}.shape()), "[1, 3, 10, W * 2]");
  EXPECT_EQ(
      (OneNode{7, "Upsample", {x}, {{"scales", std::vector<float>{1, 1, 2, 0.5f}}}, {}}.shape()),
      "[1, 3, 10, W / 2]");
  EXPECT_EQ((OneNode{13, "Resize", {x}, {}, {Tensor(), Tensor(), integers({1, 3, 7, 9})}}.shape()),
            "[1, 3, 7, 9]");
}

TEST(ShapeInference, TypesFollowTheOperators) {
  const auto type = [](const OneNode& node) {
    Model model = node.model();
    infer_shapes(model);
    return model.graph.value(model.graph.outputs[0]).type;
  };
  EXPECT_EQ(type({17, "Equal", {{2}, {2}}, {}, {}}), ElementType::Bool);
  EXPECT_EQ(type({17, "Cast", {{2}}, {{"to", int64_t{10}}}, {}}), ElementType::Float16);
  EXPECT_EQ(type({17, "Shape", {{2}}, {}, {}}), ElementType::Int64);
  EXPECT_EQ(type({17, "ArgMax", {{2}}, {}, {}}), ElementType::Int64);
  EXPECT_EQ(type({17, "Unheard", {{2}}, {}, {}}), ElementType::Undefined);
}

/// x [N, C, H, W] -> Shape -> first entry joined with -1 -> Reshape: how exporters flatten.
TEST(ShapeInference, ComputedShapesAreFollowed) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {symbol("N"), 8, symbol("H"), 4});
  const ValueId shape = graph.add_node("Shape", {x});
  const ValueId zero = graph.add_constant("zero", Tensor::scalar<int64_t>(0));
  const ValueId first = graph.add_node("Gather", {shape, zero});
  const ValueId raised = graph.add_node("Unsqueeze", {first, add_integers(graph, {0})});
  const ValueId height = graph.add_node(
      "Slice",
      {shape, add_integers(graph, {2}), add_integers(graph, {3}), add_integers(graph, {0})});
  const ValueId half = graph.add_node("Div", {height, add_integers(graph, {2})});
  const ValueId target =
      graph.add_node("Concat", {raised, add_integers(graph, {16}), half, add_integers(graph, {4})},
                     {{"axis", int64_t{0}}});
  const ValueId reshaped = graph.add_node("Reshape", {x, target});
  const ValueId filled = graph.add_node("ConstantOfShape", {target});
  infer_shapes(model);
  EXPECT_EQ(to_string(*graph.value(reshaped).shape), "[N, 16, H / 2, 4]");
  EXPECT_EQ(to_string(*graph.value(filled).shape), "[N, 16, H / 2, 4]");

  fix_input_shapes(model, {{"x", {2, 8, 6, 4}}});
  EXPECT_EQ(to_string(*graph.value(reshaped).shape), "[2, 16, 3, 4]");
}

/// Position embeddings as BERT has them: the first S rows of a table, added to [N, S, 8].
TEST(ShapeInference, RowsOfATableForEachPosition) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId ids = add_input(graph, "ids", {symbol("N"), symbol("S")}, ElementType::Int64);
  const auto table = [&](int64_t rows) {
    return graph.add_constant("table", Tensor::zeros(ElementType::Float32, {rows, 8}));
  };
  const ValueId words = graph.add_node("Gather", {table(100), ids});
  const ValueId one = add_integers(graph, {1});
  const ValueId length = graph.add_node("Gather", {graph.add_node("Shape", {ids}), one});
  const ValueId all = graph.add_constant("all", Tensor::zeros(ElementType::Int64, {1, 512}));
  const ValueId zero = add_integers(graph, {0});
  const ValueId positions = graph.add_node("Slice", {all, zero, length, one});
  const ValueId rows = graph.add_node("Gather", {table(512), positions});
  const ValueId sum = graph.add_node("Add", {words, rows});
  infer_shapes(model);
  EXPECT_EQ(to_string(*graph.value(positions).shape), "[1, min(S, 512)]");
  EXPECT_EQ(to_string(*graph.value(sum).shape), "[N, S, 8]");
}

/// torch.arange in files of opset 10: the indices of a tensor of ones.
TEST(ShapeInference, PositionsOfOnes) {
  Model model = model_of(10);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {symbol("N"), symbol("S")});
  const ValueId shape = graph.add_node("Shape", {x});
  const ValueId length = graph.add_node("Gather", {shape, add_integers(graph, {1})});
  const ValueId ones =
      graph.add_node("ConstantOfShape", {length}, {{"value", Tensor::of<int64_t>({1}, {1})}});
  const ValueId found = graph.add_node("NonZero", {ones});
  const ValueId turned = graph.add_node("Transpose", {found}, {{"perm", Integers{1, 0}}});
  const ValueId range = graph.add_node("Squeeze", {turned}, {{"axes", Integers{1}}});
  infer_shapes(model);
  EXPECT_EQ(to_string(*graph.value(range).shape), "[S]");
}

/// torch.Tensor.expand: -1 in its sizes means the size that is there.
TEST(ShapeInference, ExpandWithKeptSizes) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {symbol("N"), symbol("S")});
  const ValueId token = graph.add_constant("token", Tensor::zeros(ElementType::Float32, {1, 1, 8}));
  const ValueId shape = graph.add_node("Shape", {x});
  const ValueId batch = graph.add_node("Gather", {shape, add_integers(graph, {0})});
  const ValueId sizes =
      graph.add_node("Concat", {batch, add_integers(graph, {-1, -1})}, {{"axis", int64_t{0}}});
  const ValueId ones = graph.add_node("ConstantOfShape", {add_integers(graph, {3})},
                                      {{"value", Tensor::of<int64_t>({1}, {1})}});
  const ValueId minus =
      graph.add_node("Mul", {ones, graph.add_constant("m", Tensor::scalar<int64_t>(-1))});
  const ValueId kept = graph.add_node("Equal", {sizes, minus});
  const ValueId target = graph.add_node("Where", {kept, ones, sizes});
  const ValueId expanded = graph.add_node("Expand", {token, target});
  infer_shapes(model);
  EXPECT_EQ(to_string(*graph.value(expanded).shape), "[N, 1, 8]");
}

TEST(ShapeInference, FixedShapesMustFit) {
  Model model = model_of(13);
  add_input(model.graph, "x", {symbol("N"), 8});
  add_input(model.graph, "y", {symbol("N"), symbol("K")});
  EXPECT_THROW(fix_input_shapes(model, {{"z", {1}}}), UserError);
  EXPECT_THROW(fix_input_shapes(model, {{"x", {1, 9}}}), UserError);
  EXPECT_THROW(fix_input_shapes(model, {{"x", {1, 8, 1}}}), UserError);
  EXPECT_THROW(fix_input_shapes(model, {{"x", {-1, 8}}}), UserError);
  EXPECT_THROW(fix_input_shapes(model, {{"x", {1, 8}}, {"y", {2, 3}}}), UserError);
  EXPECT_EQ(to_string(*model.graph.value(0).shape), "[N, 8]");  // nothing was changed
  fix_input_shapes(model, {{"x", {5, 8}}});
  EXPECT_EQ(to_string(*model.graph.value(1).shape), "[5, K]");
}

TEST(ShapeInference, FunctionsAreInferredThroughTheirBodies) {
  Model model = model_of(17);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {symbol("N"), 8, 6, 6});
  const ValueId w = graph.add_constant("w", Tensor::zeros(ElementType::Float32, {4, 8, 1, 1}));
  const ValueId y = graph.add_node("layer", {x, w}, {}, 1, "opsmith");
  Function function;
  function.domain = "opsmith";
  function.name = "layer";
  for (const char* name : {"x", "w"}) {
    Value value;
    value.name = name;
    function.body.inputs.push_back(function.body.add_value(value));
  }
  function.body.outputs = {
      function.body.add_node("Conv", function.body.inputs, {{"strides", Integers{2, 2}}})};
  model.functions.push_back(std::move(function));
  infer_shapes(model);
  EXPECT_EQ(to_string(*graph.value(y).shape), "[N, 4, 3, 3]");
  EXPECT_EQ(graph.value(y).type, ElementType::Float32);
}

/// Functions that call the next one twice each: 2^40 nodes when followed blindly.
TEST(ShapeInference, NestedFunctionsDoNotExplode) {
  Model model = model_of(17);
  const ValueId x = add_input(model.graph, "x", {2});
  model.graph.add_node("f0", {x}, {}, 1, "mine");
  for (int i = 0; i < 40; ++i) {
    Function function;
    function.domain = "mine";
    function.name = "f" + std::to_string(i);
    Value value;
    value.name = "x";
    function.body.inputs = {function.body.add_value(value)};
    const std::string next = i < 39 ? "f" + std::to_string(i + 1) : "Relu";
    const std::string domain = i < 39 ? "mine" : "";
    const ValueId once = function.body.add_node(next, function.body.inputs, {}, 1, domain);
    function.body.outputs = {function.body.add_node(next, {once}, {}, 1, domain)};
    model.functions.push_back(std::move(function));
  }
  infer_shapes(model);  // ends
}

TEST(ShapeInference, BranchesAndLoops) {
  Model model = model_of(17);
  Graph& graph = model.graph;
  const ValueId condition = add_input(graph, "condition", {}, ElementType::Bool);
  const ValueId x = add_input(graph, "x", {symbol("N"), 3});
  const auto branch = [](const std::string& type) {
    auto body = std::make_shared<Graph>();
    Value captured;
    captured.name = "x";
    captured.captured = true;
    const ValueId inner = body->add_value(captured);
    body->outputs = {body->add_node(type, {inner})};
    return body;
  };
  const ValueId chosen = graph.add_node(
      "If", {condition}, {{"then_branch", branch("Relu")}, {"else_branch", branch("Neg")}});
  const ValueId either = graph.add_node(
      "If", {condition}, {{"then_branch", branch("Relu")}, {"else_branch", branch("Flatten")}});
  auto body = std::make_shared<Graph>();
  const ValueId iteration = add_input(*body, "iteration", {}, ElementType::Int64);
  const ValueId go = add_input(*body, "go", {}, ElementType::Bool);
  Value state;
  state.name = "state";
  body->inputs.push_back(body->add_value(state));
  const ValueId grown =
      body->add_node("Concat", {body->inputs[2], body->inputs[2]}, {{"axis", int64_t{1}}});
  body->outputs = {go, grown, body->inputs[2]};
  const ValueId trips = graph.add_constant("trips", Tensor::scalar<int64_t>(3));
  const ValueId carried = graph.add_node("Loop", {trips, kNoValue, x}, {{"body", body}}, 2);
  infer_shapes(model);
  EXPECT_EQ(to_string(*graph.value(chosen).shape), "[N, 3]");
  EXPECT_EQ(to_string(*graph.value(either).shape), "[N, 3]");
  EXPECT_EQ(to_string(*graph.value(carried).shape), "[N, ?]");
  EXPECT_EQ(to_string(*graph.value(graph.nodes[2].output(1)).shape), "[?, N, ?]");
  EXPECT_EQ(graph.value(carried).type, ElementType::Float32);
  EXPECT_NE(iteration, kNoValue);
}

}  // namespace
}  // namespace opsmith::graph
