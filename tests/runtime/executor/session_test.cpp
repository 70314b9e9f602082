#include "runtime/executor/session.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/error.h"
#include "tests/runtime/executor/models.h"

namespace opsmith {
namespace {

using executor::Session;
using executor::SessionOptions;
using graph::Dimension;
using graph::ValueId;
using testing::expect_agrees_with_reference;
using testing::ModelMaker;
using testing::random_tensor;
using testing::shared_compiler;

TEST(Session, ResidualBlocksWithDownsampling) {
  ModelMaker m({2, 3, 17, 13});
  ValueId stem = m.node("Relu", {m.convolution(m.x, 3, 32, 3, 2)});
  ValueId pooled = m.node("MaxPool", {stem},
                          {{"kernel_shape", std::vector<int64_t>{3, 3}},
                           {"strides", std::vector<int64_t>{2, 2}},
                           {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  ValueId a = m.node("Relu", {m.convolution(pooled, 32, 32, 3)});
  ValueId b = m.convolution(a, 32, 32, 3);
  ValueId sum = m.node("Relu", {m.node("Add", {b, pooled})});
  ValueId c = m.node("Relu", {m.convolution(sum, 32, 48, 3, 2)});
  ValueId d = m.convolution(c, 48, 48, 3);
  ValueId shortcut = m.convolution(sum, 32, 48, 1, 2);
  ValueId end = m.node("Relu", {m.node("Add", {d, shortcut})});
  ValueId flat = m.node("Flatten", {m.node("GlobalAveragePool", {end})});
  ValueId logits =
      m.node("Gemm", {flat, m.weight({10, 48}), m.weight({10})}, {{"transB", int64_t{1}}});
  graph::Model model = m.finish({logits});
  expect_agrees_with_reference(model, {{"x", random_tensor(m.random(), {2, 3, 17, 13})}});
}

TEST(Session, InvertedResidualsAndSqueezeExcitation) {
  ModelMaker m({1, 16, 9, 11});
  ValueId expanded = m.node("HardSwish", {m.convolution(m.x, 16, 40, 1)});
  ValueId depthwise = m.convolution(expanded, 40, 40, 5, 1, 40);
  ValueId silu = m.node("Mul", {depthwise, m.node("Sigmoid", {depthwise})});
  ValueId squeezed = m.node("GlobalAveragePool", {silu});
  ValueId gate = m.node("Relu", {m.convolution(squeezed, 40, 8, 1)});
  gate = m.node("HardSigmoid", {m.convolution(gate, 8, 40, 1)});
  ValueId scaled = m.node("Mul", {silu, gate});
  ValueId projected = m.node("Add", {m.convolution(scaled, 40, 16, 1), m.x});
  graph::Model model = m.finish({projected});
  expect_agrees_with_reference(model, {{"x", random_tensor(m.random(), {1, 16, 9, 11})}});
}

TEST(Session, DenseConcatenationsGroupsAndDilation) {
  ModelMaker m({1, 16, 8, 8});
  ValueId a = m.node("Relu", {m.convolution(m.x, 16, 32, 3)});
  ValueId joined = m.node("Concat", {m.node("Relu", {m.convolution(m.x, 16, 16, 3)}), a},
                          {{"axis", int64_t{1}}});
  ValueId grouped = m.convolution(joined, 48, 48, 3, 1, 3);
  ValueId dilated = m.node("LeakyRelu", {m.convolution(grouped, 48, 24, 3, 1, 1, 2)});
  ValueId odd = m.node("Concat", {dilated, joined}, {{"axis", int64_t{1}}});
  ValueId pooled = m.node(
      "AveragePool", {odd},
      {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  ValueId end = m.convolution(pooled, 72, 5, 1);
  graph::Model model = m.finish({end, joined});
  expect_agrees_with_reference(model, {{"x", random_tensor(m.random(), {1, 16, 8, 8})}});
}

TEST(Session, TransformerBlock) {
  ModelMaker m({2, 7, 24});
  auto linear = [&](ValueId data, int64_t from, int64_t to) {
    return m.node("Add", {m.node("MatMul", {data, m.weight({from, to})}), m.weight({to})});
  };
  auto heads = [&](ValueId data, std::vector<int64_t> order) {
    ValueId split = m.node("Reshape", {data, m.integers({0, 0, 3, 8})});
    return m.node("Transpose", {split}, {{"perm", order}});
  };
  ValueId query = heads(linear(m.x, 24, 24), {0, 2, 1, 3});
  ValueId key = heads(linear(m.x, 24, 24), {0, 2, 3, 1});
  ValueId value = heads(linear(m.x, 24, 24), {0, 2, 1, 3});
  ValueId scores = m.node(
      "Mul", {m.node("MatMul", {query, key}), m.graph().add_constant("s", Tensor::scalar(0.35F))});
  ValueId attention = m.node("MatMul", {m.node("Softmax", {scores}), value});
  ValueId merged = m.node(
      "Reshape", {m.node("Transpose", {attention}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}),
                  m.integers({0, 0, 24})});
  ValueId residual = m.node("Add", {linear(merged, 24, 24), m.x});
  ValueId normal = m.node("LayerNormalization", {residual, m.weight({24}), m.weight({24})});
  ValueId hidden = linear(normal, 24, 50);
  // Gelu as exporters write it.
  auto number = [&](float n) { return m.graph().add_constant("n", Tensor::scalar(n)); };
  ValueId erf = m.node("Erf", {m.node("Div", {hidden, number(1.4142135F)})});
  ValueId gelu =
      m.node("Mul", {m.node("Mul", {hidden, m.node("Add", {erf, number(1)})}), number(0.5F)});
  graph::Model model = m.finish({m.node("Add", {linear(gelu, 50, 24), normal})});
  expect_agrees_with_reference(model, {{"x", random_tensor(m.random(), {2, 7, 24})}});
}

TEST(Session, ShapesMayChangeFromRunToRun) {
  ModelMaker m({Dimension::named("N"), 3, 16, Dimension::named("W")});
  ValueId conv = m.node("Relu", {m.convolution(m.x, 3, 20, 3, 2)});
  // [N, 20, 8, W/2] to [N, W/2, 160] by shape arithmetic.
  ValueId extents = m.node("Shape", {conv});
  ValueId batch = m.node("Slice", {extents, m.integers({0}), m.integers({1})});
  ValueId width = m.node("Slice", {extents, m.integers({3}), m.integers({4})});
  ValueId target = m.node("Concat", {batch, width, m.integers({-1})}, {{"axis", int64_t{0}}});
  ValueId columns = m.node("Transpose", {conv}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  ValueId rows = m.node("Reshape", {columns, target});
  ValueId logits = m.node("MatMul", {rows, m.weight({160, 11})});
  graph::Model model = m.finish({m.node("Softmax", {logits})});
  Session session(model, shared_compiler());
  for (Shape shape : {Shape{1, 3, 16, 20}, Shape{3, 3, 16, 20}, Shape{1, 3, 16, 31}}) {
    Tensor x = random_tensor(m.random(), shape);
    auto expected = executor::run_reference(model, {{"x", x}});
    auto actual = session.run({{"x", x}});
    for (const auto& [name, tensor] : expected) {
      EXPECT_EQ(actual.at(name).shape(), tensor.shape());
      EXPECT_LT(relative_error(actual.at(name), tensor), 1e-4) << to_string(shape);
    }
  }
}

TEST(Session, ShapesThatDependOnDataAreRunPlainly) {
  ModelMaker m({4, 5});
  ValueId positive = m.node("Relu", {m.x});
  ValueId found = m.node("NonZero", {positive});
  ValueId values = m.node("GatherND", {positive, m.node("Transpose", {found})});
  graph::Model model = m.finish({m.node("Exp", {values}), positive});
  expect_agrees_with_reference(model, {{"x", random_tensor(m.random(), {4, 5})}});
}

TEST(Session, BranchesRunWithWhatTheyCapture) {
  ModelMaker m({2, 16, 4, 4});
  ValueId conv = m.node("Relu", {m.convolution(m.x, 16, 16, 3)});
  ValueId flag = m.input("flag", {}, ElementType::Bool);
  auto branch = [&](const std::string& type) {
    auto body = std::make_shared<graph::Graph>();
    graph::Value captured;
    captured.name = m.graph().value(conv).name;
    captured.captured = true;
    ValueId outer = body->add_value(captured);
    body->outputs = {body->add_node(type, {outer})};
    return body;
  };
  ValueId chosen =
      m.node("If", {flag}, {{"then_branch", branch("Exp")}, {"else_branch", branch("Neg")}});
  graph::Model model = m.finish({m.node("Abs", {chosen})});
  Tensor x = random_tensor(m.random(), {2, 16, 4, 4});
  for (bool value : {true, false}) {
    expect_agrees_with_reference(model, {{"x", x}, {"flag", Tensor::scalar(value)}});
  }
}

TEST(Session, SynthesizedOperatorsRunAsTheirProgram) {
  ModelMaker m({2, 32, 7, 9});
  const std::string text =
      "program grouped_then_pointwise(x: f32[N, 32, H, W]; w1: f32[32, 8, 3, 3], "
      "w2: f32[48, 32]) -> y\n"
      "  z: f32[n: N, o: 32, h: H, w: W] = sum[f32](c: 8, a: 3, b: 3) "
      "x[n, o/8*8 + c, h + a - 1, w + b - 1] * w1[o, c, a, b]\n"
      "  y: f32[n: N, o: 48, h: H, w: W] = sum[f32](c: 32) z[n, c, h, w] * w2[o, c]\n";
  ValueId y = m.graph().add_node("layer",
                                 {m.x, m.weight({32, 8, 3, 3}), m.weight({48, 32}), m.weight({48})},
                                 {{"program", text}}, 1, "opsmith", "layer");
  graph::Model model = m.finish({m.node("Relu", {y})});
  expect_agrees_with_reference(model, {{"x", random_tensor(m.random(), {2, 32, 7, 9})}});
}

TEST(Session, KeptValuesAreReturnedAndNotFusedAway) {
  ModelMaker m({1, 16, 6, 6});
  ValueId conv = m.convolution(m.x, 16, 16, 3);
  ValueId relu = m.node("Relu", {conv});
  std::string name = m.graph().value(conv).name;
  graph::Model model = m.finish({m.convolution(relu, 16, 16, 3)});
  SessionOptions options;
  options.keep = {name};
  Tensor x = random_tensor(m.random(), {1, 16, 6, 6});
  auto actual = Session(model, shared_compiler(), options).run({{"x", x}});
  auto expected = executor::run_reference(model, {{"x", x}}, {name});
  ASSERT_EQ(actual.size(), 2u);
  for (const auto& [key, tensor] : expected) {
    EXPECT_LT(relative_error(actual.at(key), tensor), 1e-4) << key;
  }
  options.keep = {"nowhere"};
  EXPECT_THROW(Session(model, shared_compiler(), options), UserError);
}

TEST(Session, RunsFromSeveralThreadsAtOnce) {
  ModelMaker m({1, 16, 12, 12});
  ValueId y =
      m.node("Relu", {m.convolution(m.node("Relu", {m.convolution(m.x, 16, 32, 3)}), 32, 16, 3)});
  graph::Model model = m.finish({y});
  Session session(model, shared_compiler());
  std::vector<Tensor> inputs;
  for (int i = 0; i < 4; ++i) inputs.push_back(random_tensor(m.random(), {1, 16, 12, 12}));
  std::vector<double> errors(4, 1);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Tensor expected = executor::run_reference(model, {{"x", inputs[i]}}).begin()->second;
      double worst = 0;
      for (int round = 0; round < 20; ++round) {
        Tensor actual = session.run({{"x", inputs[i]}}).begin()->second;
        worst = std::max(worst, relative_error(actual, expected));
      }
      errors[i] = worst;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (double error : errors) EXPECT_LT(error, 1e-4);
}

TEST(Session, RefusesInputsThatDoNotFit) {
  ModelMaker m({1, 16, 4, 4});
  graph::Model model = m.finish({m.node("Relu", {m.x})});
  Session session(model, shared_compiler());
  Tensor right = random_tensor(m.random(), {1, 16, 4, 4});
  EXPECT_THROW(session.run({}), UserError);
  EXPECT_THROW(session.run({{"x", random_tensor(m.random(), {1, 16, 4, 5})}}), UserError);
  EXPECT_THROW(session.run({{"x", right.cast(ElementType::Int32)}}), UserError);
  EXPECT_THROW(session.run({{"x", right}, {"y", right}}), UserError);
  EXPECT_NO_THROW(session.run({{"x", right}}));
}

TEST(Session, ProfileNamesStepsAndCountsWork) {
  ModelMaker m({1, 16, 6, 6});
  graph::Model model = m.finish({m.node("Relu", {m.convolution(m.x, 16, 32, 3)})});
  Session session(model, shared_compiler());
  auto steps = session.profile({{"x", random_tensor(m.random(), {1, 16, 6, 6})}});
  int64_t work = 0;
  bool fused = false;
  for (const auto& step : steps) {
    work += step.multiply_accumulates;
    fused = fused || step.node.find('+') != std::string::npos;
    EXPECT_FALSE(step.variant.empty());
  }
  EXPECT_EQ(work, 32 * 16 * 9 * 36);
  EXPECT_TRUE(fused);
}

TEST(Session, AnUnknownOperatorIsNamed) {
  ModelMaker m({1, 4});
  graph::Model model = m.finish({m.node("Frobnicate", {m.x})});
  try {
    Session(model, shared_compiler()).run({{"x", random_tensor(m.random(), {1, 4})}});
    FAIL() << "expected Unsupported";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("Frobnicate"), std::string::npos);
  }
}

}  // namespace
}  // namespace opsmith
