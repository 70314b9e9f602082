#include <gtest/gtest.h>

#include "runtime/expression/interpreter.h"
#include "runtime/kernels/plain/broadcast.h"
#include "runtime/kernels/program_builder.h"
#include "support/error.h"
#include "support/random.h"

namespace opsmith::kernels {
namespace {

TEST(BroadcastCursor, WalksAsNumpyBroadcasts) {
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    Shape into;
    for (int64_t rank = random.integer(0, 4); rank > 0; --rank) {
      into.push_back(random.integer(1, 4));
    }
    // The last dimensions, some of them 1.
    Shape from(into.begin() + random.integer(0, static_cast<int64_t>(into.size())), into.end());
    for (int64_t& extent : from) extent = random.integer(0, 2) == 0 ? 1 : extent;
    BroadcastCursor cursor(from, into);
    const size_t skipped = into.size() - from.size();
    for (int64_t at = 0; at < element_count(into); ++at) {
      int64_t rest = at, offset = 0, stride = 1;
      for (size_t d = into.size(); d-- > 0;) {
        const int64_t position = rest % into[d];
        rest /= into[d];
        if (d < skipped) continue;
        const int64_t extent = from[d - skipped];
        offset += position % extent * stride;
        stride *= extent;
      }
      ASSERT_EQ(cursor.offset(), offset) << to_string(from) << " into " << to_string(into);
      cursor.advance();
    }
    EXPECT_EQ(cursor.offset(), 0) << "at the beginning again";
  }
}

/// A node with inputs of these shapes; input 2 is absent, inputs 3 and 4 are constant.
class Built : public ::testing::Test {
 protected:
  Built() {
    node.name = "tested";
    node.type = "Some";
    node.inputs = {0, 1, graph::kNoValue, 3, 4};
    node.attributes["axes"] = std::vector<int64_t>{7, 8};
    model.opsets[""] = 17;
    context.model = &model;
    context.input_shapes = {{2, 3, 4}, {3, 1}, {}, {1}, {2}};
    context.input_types = {ElementType::Float32, ElementType::Float32, ElementType::Undefined,
                           ElementType::Float32, ElementType::Int64};
    context.constants = {nullptr, nullptr, nullptr, &one, &two};
  }
  graph::Node node;
  graph::Model model;
  LoweringContext context;
  Tensor one = Tensor::of<float>({1}, {0.25F});
  Tensor two = Tensor::of<int64_t>({2}, {-1, 5});
};

TEST_F(Built, KnowsItsInputs) {
  const ProgramBuilder builder(node, context);
  EXPECT_EQ(builder.opset(), 17);
  EXPECT_EQ(builder.input_count(), 5U);
  EXPECT_TRUE(builder.has(0));
  EXPECT_FALSE(builder.has(2)) << "absent";
  EXPECT_FALSE(builder.has(9)) << "beyond";
  EXPECT_EQ(builder.constant(0), nullptr);
  EXPECT_EQ(builder.constant(3), &one);
  EXPECT_EQ(builder.constant(9), nullptr);
  EXPECT_FALSE(builder.all_of_type(ElementType::Float32));
  context.input_types[4] = ElementType::Float32;
  EXPECT_TRUE(ProgramBuilder(node, context).all_of_type(ElementType::Float32))
      << "absent ones have no say";
}

TEST_F(Built, TakesIntegersFromAnInputOrAnAttribute) {
  const ProgramBuilder builder(node, context);
  EXPECT_EQ(builder.integers(4, "axes"), (std::vector<int64_t>{-1, 5})) << "the input goes first";
  EXPECT_EQ(builder.integers(2, "axes"), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(builder.integers(9, "missing", {3}), (std::vector<int64_t>{3}));
  try {
    builder.integers(1, "axes");
    FAIL();
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("tested"), std::string::npos) << error.what();
  }
}

TEST_F(Built, MakesAProgramThatReadsBroadcast) {
  ProgramBuilder builder(node, context);
  const Shape shape = {2, 3, 4};
  const expression::Scalar body =
      builder.read_broadcast(1, shape) +
      builder.read_broadcast(0, shape) * builder.read_broadcast(3, shape);
  builder.add_stage(map_stage("inner", shape, body));
  builder.add_stage(
      reduce_stage("y", {2, 4}, expression::Reduction::Sum, {3},
                   expression::Scalar::read("inner", {axis(0), reduction_axis(0), axis(1)})));
  const Lowered lowered = builder.finish({"y"});
  EXPECT_NO_THROW(expression::validate(lowered.program));
  EXPECT_EQ(lowered.arguments, (std::vector<int>{0, 1})) << "in the node's order, not the reads'";
  EXPECT_TRUE(lowered.program.weights.empty()) << "a constant of one element is written out";
  Random random(2);
  Tensor x(ElementType::Float32, shape), w(ElementType::Float32, {3, 1});
  for (float& v : x.data<float>()) v = static_cast<float>(random.uniform(-1, 1));
  for (float& v : w.data<float>()) v = static_cast<float>(random.uniform(-1, 1));
  const Tensor y = expression::interpret(lowered.program, {{"x0", x}, {"x1", w}}).at("y");
  for (size_t a = 0; a < 2; ++a) {
    for (size_t c = 0; c < 4; ++c) {
      double sum = 0;
      for (size_t b = 0; b < 3; ++b) {
        sum += w.data<float>()[b] + 0.25 * x.data<float>()[(a * 3 + b) * 4 + c];
      }
      EXPECT_NEAR(y.data<float>()[a * 4 + c], sum, 1e-6);
    }
  }
}

TEST_F(Built, ReadsAlongAnAxisAndDeclaresConstantsAsWeights) {
  ProgramBuilder builder(node, context);
  builder.add_stage(
      map_stage("y", {2, 3, 2}, builder.read(0, all_axes(3)) + builder.read_along(4, 2)));
  const Lowered lowered = builder.finish({"y"});
  ASSERT_EQ(lowered.program.weights.size(), 1U);
  EXPECT_EQ(lowered.program.weights[0].name, "x4");
  EXPECT_EQ(lowered.program.weights[0].type, ElementType::Int64);
  EXPECT_EQ(lowered.arguments, (std::vector<int>{0, 4}));
  const Tensor x = Tensor::zeros(ElementType::Float32, {2, 3, 4});
  const Tensor y = expression::interpret(lowered.program, {{"x0", x}, {"x4", two}}).at("y");
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(y.data<float>()[i], i % 2 == 0 ? -1 : 5);
}

}  // namespace
}  // namespace opsmith::kernels
