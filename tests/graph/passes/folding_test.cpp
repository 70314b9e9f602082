#include <cmath>

#include "support/error.h"
#include "tests/graph/passes/pass_test.h"

namespace opsmith::graph {
namespace {

using namespace opsmith::testing;  // NOLINT: builders of graphs
using Integers = std::vector<int64_t>;

/// A model x [1, C, 5, 5] -> layer -> `after` it -> y, with the layer's weights random.
struct Layer {
  Model model = model_of(13);
  ValueId between = kNoValue;

  Layer(const std::string& type, const Shape& weight, int64_t group, bool bias) {
    Random random(3);
    Graph& graph = model.graph;
    const int64_t inputs = type == "Conv" ? weight[1] * group : weight[0];
    const int64_t outputs = type == "Conv" ? weight[0] : weight[1] * group;
    const ValueId x = add_input(graph, "x", {symbol("N"), inputs, 5, 5});
    std::vector<ValueId> ids = {x, graph.add_constant("w", random_tensor(random, weight))};
    if (bias) ids.push_back(graph.add_constant("b", random_tensor(random, {outputs})));
    between = graph.add_node(type, ids, {{"group", group}}, 1, "", "layer");
  }

  const Tensor& weight() const { return *model.graph.constant(model.graph.nodes[0].input(1)); }
  const Tensor& bias() const { return *model.graph.constant(model.graph.nodes[0].input(2)); }
};

void add_batch_norm(Layer& layer, int64_t channels, const Attributes& attributes = {}) {
  Random random(5);
  Graph& graph = layer.model.graph;
  std::vector<ValueId> ids = {layer.between};
  for (const char* name : {"scale", "shift", "mean", "variance"}) {
    Tensor statistic = random_tensor(random, {channels});
    for (float& value : statistic.data<float>()) value = std::abs(value) + 0.5f;
    ids.push_back(graph.add_constant(name, statistic));
  }
  set_output(graph, graph.add_node("BatchNormalization", ids, attributes), "y");
}

/// Checks channel by channel that weight and bias are those of `before`, scaled and shifted.
void expect_folded(const Layer& before, const Layer& after, int64_t channels,
                   const std::function<int64_t(int64_t)>& channel_of_element) {
  const Graph& graph = before.model.graph;
  const Node& norm = graph.nodes[1];
  const auto statistic = [&](size_t i, int64_t c) {
    return graph.constant(norm.input(i))->data<float>()[static_cast<size_t>(c)];
  };
  const auto scale = [&](int64_t c) {
    return statistic(1, c) / std::sqrt(statistic(4, c) + 1e-5f);
  };
  for (size_t i = 0; i < static_cast<size_t>(before.weight().count()); ++i) {
    EXPECT_NEAR(
        after.weight().data<float>()[i],
        before.weight().data<float>()[i] * scale(channel_of_element(static_cast<int64_t>(i))),
        1e-5);
  }
  const bool has_bias = before.model.graph.nodes[0].inputs.size() > 2;
  for (int64_t c = 0; c < channels; ++c) {
    const float bias = has_bias ? before.bias().data<float>()[static_cast<size_t>(c)] : 0;
    EXPECT_NEAR(after.bias().data<float>()[static_cast<size_t>(c)],
                (bias - statistic(3, c)) * scale(c) + statistic(2, c), 1e-5);
  }
}

TEST(BatchNormFolding, IntoConvolutions) {
  for (const bool bias : {false, true}) {
    Layer before("Conv", {6, 2, 3, 3}, 2, bias);
    add_batch_norm(before, 6);
    Layer after = before;
    EXPECT_EQ(run_pass(fold_batch_norms, after.model), 1);
    ASSERT_EQ(node_types(after.model.graph), std::vector<std::string>{"Conv"});
    EXPECT_EQ(after.model.graph.value(after.model.graph.outputs[0]).name, "y");
    expect_folded(before, after, 6, [](int64_t i) { return i / 18; });
  }
}

TEST(BatchNormFolding, IntoGroupedTransposedConvolutions) {
  Layer before("ConvTranspose", {4, 3, 2, 2}, 2, true);
  add_batch_norm(before, 6);
  Layer after = before;
  EXPECT_EQ(run_pass(fold_batch_norms, after.model), 1);
  // Weight [C, O / group, 2, 2]: rows 0 and 1 make channels 0 to 2, rows 2 and 3 the others.
  expect_folded(before, after, 6, [](int64_t i) { return i / 4 % 3 + (i / 12 >= 2 ? 3 : 0); });
}

TEST(BatchNormFolding, NotWhenTrainingSharedOrAnOutput) {
  Layer training("Conv", {6, 2, 3, 3}, 2, true);
  training.model.opsets[""] = 15;
  add_batch_norm(training, 6, {{"training_mode", int64_t{1}}});
  EXPECT_EQ(run_pass(fold_batch_norms, training.model), 0);

  Layer shared("Conv", {6, 2, 3, 3}, 2, true);
  add_batch_norm(shared, 6);
  set_output(shared.model.graph, shared.model.graph.add_node("Relu", {shared.between}), "z");
  EXPECT_EQ(run_pass(fold_batch_norms, shared.model), 0);

  Layer visible("Conv", {6, 2, 3, 3}, 2, true);
  add_batch_norm(visible, 6);
  visible.model.graph.outputs.push_back(visible.between);
  EXPECT_EQ(run_pass(fold_batch_norms, visible.model), 0);
}

TEST(BatchNormFolding, SharedWeightsStayForTheOthers) {
  Layer layer("Conv", {6, 2, 3, 3}, 2, false);
  add_batch_norm(layer, 6);
  Graph& graph = layer.model.graph;
  const ValueId weight = graph.nodes[0].input(1);
  set_output(graph, graph.add_node("Conv", {graph.inputs[0], weight}, {{"group", int64_t{2}}}),
             "z");
  const Tensor before = graph.constant(weight)->clone();
  EXPECT_EQ(run_pass(fold_batch_norms, layer.model), 1);
  EXPECT_EQ(graph.nodes[1].input(1), weight);
  EXPECT_TRUE(identical(*graph.constant(weight), before));
}

TEST(AffineFolding, ScalesAndShiftsByNumberOrChannel) {
  Layer layer("Conv", {2, 1, 1, 1}, 1, false);
  Graph& graph = layer.model.graph;
  const float w0 = layer.weight().data<float>()[0];
  const float w1 = layer.weight().data<float>()[1];
  const ValueId half = graph.add_constant("half", Tensor::scalar(2.0f));
  const ValueId row = graph.add_constant("row", Tensor::of<float>({2, 1, 1}, {10, 20}));
  const ValueId one = graph.add_constant("one", Tensor::of<float>({1}, {1}));
  const ValueId a = graph.add_node("Div", {layer.between, half});
  const ValueId b = graph.add_node("Mul", {row, a});
  set_output(graph, graph.add_node("Sub", {one, b}), "y");
  std::vector<PassCount> counts = simplify(layer.model, {});
  validate(layer.model);
  ASSERT_EQ(node_types(graph), std::vector<std::string>{"Conv"});
  EXPECT_NEAR(layer.weight().data<float>()[0], -w0 * 10 / 2, 1e-5);
  EXPECT_NEAR(layer.weight().data<float>()[1], -w1 * 20 / 2, 1e-5);
  EXPECT_NEAR(layer.bias().data<float>()[1], 1, 1e-6);
  for (const PassCount& count : counts) {
    EXPECT_EQ(count.changes, count.name == "affine-folding" ? 3 : 0) << count.name;
  }
}

TEST(AffineFolding, NotForConstantsThatVaryOverPositions) {
  for (const Shape& shape : {Shape{5}, Shape{5, 1}, Shape{1, 1, 2, 1, 1}, Shape{1, 2, 1, 5}}) {
    Layer layer("Conv", {2, 1, 1, 1}, 1, false);
    Graph& graph = layer.model.graph;
    const ValueId c = graph.add_constant("c", Tensor::zeros(ElementType::Float32, shape));
    set_output(graph, graph.add_node("Add", {layer.between, c}), "y");
    EXPECT_EQ(run_pass(fold_affine, layer.model), 0) << opsmith::to_string(shape);
  }
}

TEST(AffineFolding, GemmKeepsAlphaAndBeta) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {symbol("N"), 1});
  const ValueId w = graph.add_constant("w", Tensor::of<float>({2, 1}, {1, 2}));
  const ValueId c = graph.add_constant("c", Tensor::of<float>({1, 2}, {3, 4}));
  const ValueId product =
      graph.add_node("Gemm", {x, w, c}, {{"transB", int64_t{1}}, {"alpha", 0.5f}, {"beta", 2.0f}});
  const ValueId s = graph.add_constant("s", Tensor::of<float>({2}, {10, 100}));
  set_output(graph, graph.add_node("Mul", {product, s}), "y");
  EXPECT_EQ(run_pass(fold_affine, model), 1);
  const Node& gemm = graph.nodes[0];
  EXPECT_EQ(gemm.real("alpha", 1), 0.5f);
  EXPECT_EQ(gemm.real("beta", 1), 1.0f);
  EXPECT_EQ(graph.constant(gemm.input(1))->data<float>()[1], 200);
  EXPECT_EQ(graph.constant(gemm.input(2))->data<float>()[0], 60);
  EXPECT_EQ(graph.constant(gemm.input(2))->data<float>()[1], 800);
}

/// x -> Pad -> Conv(pads 1).
Model padded(const Integers& pads, const Attributes& attributes = {}, float value = 0) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {1, 2, 8, 8});
  const ValueId fill = graph.add_constant("fill", Tensor::scalar(value));
  const ValueId p = graph.add_node("Pad", {x, add_integers(graph, pads), fill}, attributes);
  const ValueId w = graph.add_constant("w", Tensor::zeros(ElementType::Float32, {2, 2, 3, 3}));
  set_output(graph, graph.add_node("Conv", {p, w}, {{"pads", Integers{1, 1, 1, 1}}}), "y");
  return model;
}

TEST(PaddingFolding, ZerosAroundTheImage) {
  Model model = padded({0, 0, 1, 2, 0, 0, 3, 4});
  infer_shapes(model);
  const auto before = model.graph.value(model.graph.outputs[0]).shape;
  EXPECT_EQ(run_pass(fold_padding, model), 1);
  EXPECT_EQ(run_pass(remove_dead_code, model), 1);
  ASSERT_EQ(node_types(model.graph), std::vector<std::string>{"Conv"});
  EXPECT_EQ(model.graph.nodes[0].integers("pads"), (Integers{2, 3, 4, 5}));
  infer_shapes(model);
  EXPECT_EQ(model.graph.value(model.graph.outputs[0]).shape, before);
}

TEST(PaddingFolding, NotForOtherPadding) {
  const Integers plain = {0, 0, 1, 1, 0, 0, 1, 1};
  Model reflected = padded(plain, {{"mode", std::string("reflect")}});
  EXPECT_EQ(run_pass(fold_padding, reflected), 0);
  Model filled = padded(plain, {}, 1);
  EXPECT_EQ(run_pass(fold_padding, filled), 0);
  Model cropped = padded({0, 0, -1, 0, 0, 0, 0, 0});
  EXPECT_EQ(run_pass(fold_padding, cropped), 0);
  Model batch = padded({1, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(run_pass(fold_padding, batch), 0);
}

/// Knows Neg, and counts how often it is asked.
class NegEvaluator : public Evaluator {
 public:
  bool supports(const Node& node, const Model&) const override { return node.is("Neg"); }
  std::vector<Tensor> evaluate(const Node&, const Model&,
                               std::span<const Tensor> inputs) const override {
    ++calls;
    Tensor result = inputs[0].clone();
    for (float& value : result.data<float>()) value = -value;
    return {result};
  }
  mutable int calls = 0;
};

TEST(ConstantFolding, NodesOfConstants) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {2});
  const ValueId c = graph.add_constant("c", Tensor::of<float>({2}, {1, 2}));
  const ValueId negative = graph.add_node("Neg", {c});
  const ValueId back = graph.add_node("Neg", {negative});
  set_output(graph, graph.add_node("Add", {x, back}), "y");
  const NegEvaluator evaluator;
  EXPECT_EQ(run_pass(fold_constants, model), 0);  // nothing without an evaluator
  EXPECT_EQ(run_pass(fold_constants, model, {&evaluator}), 2);
  EXPECT_EQ(node_types(graph), std::vector<std::string>{"Add"});
  EXPECT_EQ(graph.constant(graph.nodes[0].input(1))->data<float>()[1], 2);
}

TEST(ConstantFolding, NotOutputsUnknownOperatorsOrWhatGrows) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId c = graph.add_constant("c", Tensor::of<float>({1}, {1}));
  set_output(graph, graph.add_node("Neg", {c}), "y");
  const ValueId large = graph.add_node("Expand", {c, add_integers(graph, {1 << 20})});
  set_output(graph, graph.add_node("Neg", {large}), "z");
  const ValueId unknown = graph.add_node("Mystery", {c});
  set_output(graph, graph.add_node("Neg", {unknown}), "u");
  const NegEvaluator evaluator;
  EXPECT_EQ(run_pass(fold_constants, model, {&evaluator}), 0);
  EXPECT_EQ(evaluator.calls, 0);
}

TEST(ConstantNodes, EveryForm) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const Attributes forms = {{"value", Tensor::scalar(1.0f)},
                            {"value_int", int64_t{3}},
                            {"value_float", 0.5f},
                            {"value_ints", Integers{1, 2}},
                            {"value_floats", std::vector<float>{1, 2, 3}},
                            {"value_string", std::string("a")},
                            {"value_strings", std::vector<std::string>{"a", "b"}}};
  std::vector<ValueId> ids;
  for (const auto& [name, value] : forms) {
    ids.push_back(graph.add_node("Constant", {}, {{name, value}}));
    set_output(graph, graph.add_node("Mystery", {ids.back()}), "out_" + name);
  }
  EXPECT_EQ(run_pass(make_constants, model), static_cast<int>(forms.size()));
  EXPECT_EQ(graph.nodes.size(), forms.size());
  for (const ValueId id : ids) EXPECT_TRUE(graph.constant(id));
}

TEST(ConstantNodes, NotAnOutputOrAnUnknownForm) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  set_output(graph, graph.add_node("Constant", {}, {{"value_int", int64_t{3}}}), "y");
  const ValueId sparse = graph.add_node("Constant", {}, {{"sparse_value", OpaqueAttribute{"?"}}});
  set_output(graph, graph.add_node("Mystery", {sparse}), "z");
  EXPECT_EQ(run_pass(make_constants, model), 0);
}

TEST(ShapeFolding, OnlyWhatHoldsForEveryInput) {
  Model model = model_of(13);
  Graph& graph = model.graph;
  const ValueId x = add_input(graph, "x", {symbol("N"), 8});
  const ValueId shape = graph.add_node("Shape", {x});
  const ValueId batch = graph.add_node("Gather", {shape, add_integers(graph, {0})});
  const ValueId channels = graph.add_node("Gather", {shape, add_integers(graph, {1})});
  set_output(graph, graph.add_node("Mystery", {batch, channels}), "y");
  EXPECT_EQ(run_pass(fold_shapes, model), 1);
  EXPECT_EQ(node_types(graph), (std::vector<std::string>{"Shape", "Gather", "Mystery"}));
  EXPECT_EQ(graph.constant(channels)->data<int64_t>()[0], 8);
  EXPECT_FALSE(graph.constant(batch));
}

}  // namespace
}  // namespace opsmith::graph
