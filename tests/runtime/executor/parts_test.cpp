#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <set>
#include <thread>

#include "runtime/executor/layout/access.h"
#include "runtime/executor/operation.h"
#include "runtime/executor/weights.h"
#include "support/denormals.h"
#include "support/error.h"
#include "tests/runtime/executor/models.h"

// The small parts that plans are made of.

namespace opsmith::executor {
namespace {

using opsmith::testing::ModelMaker;
using opsmith::testing::random_tensor;
using schedule::Layout;

TEST(FlushDenormals, CountsTinyNumbersAsZeroWhileItLives) {
  volatile float tiny = std::numeric_limits<float>::min() / 4;
  volatile float normal = std::numeric_limits<float>::min();
  EXPECT_GT(tiny * 1.0F, 0.0F);
  {
    const FlushDenormals flush;
    EXPECT_EQ(tiny + 0.0F, 0.0F) << "as an operand";
    EXPECT_EQ(normal * 0.5F, 0.0F) << "as a result";
    EXPECT_GT(normal * 1.0F, 0.0F);
    {
      const FlushDenormals again;
      EXPECT_EQ(normal * 0.5F, 0.0F);
    }
    EXPECT_EQ(normal * 0.5F, 0.0F) << "the inner one restores the outer one's setting";
  }
  EXPECT_GT(normal * 0.5F, 0.0F);
  EXPECT_GT(tiny * 1.0F, 0.0F);
}

TEST(FlushDenormals, ConcernsItsThreadOnly) {
  volatile float normal = std::numeric_limits<float>::min();
  std::atomic<int> phase{0};
  float other = 0;
  std::thread thread([&] {
    while (phase == 0) std::this_thread::yield();
    other = normal * 0.5F;
  });
  {
    const FlushDenormals flush;
    phase = 1;
    thread.join();
  }
  EXPECT_GT(other, 0.0F);
}

TEST(WeightStore, PacksEachConstantOncePerLayout) {
  Random random(1);
  const Tensor weight = random_tensor(random, {5, 7, 3, 3});
  const Layout blocked = Layout::channel_blocked(4, 4);
  WeightStore store;
  EXPECT_EQ(store.bytes(), 0);
  const void* packed = store.packed(weight, blocked);
  EXPECT_EQ(store.packed(weight, blocked), packed);
  EXPECT_EQ(store.bytes(), 4 * blocked.storage_count(weight.shape()));
  const auto* elements = static_cast<const float*>(packed);
  int64_t at = 0;
  for (int64_t a = 0; a < 5; ++a) {
    for (int64_t b = 0; b < 7; ++b) {
      for (int64_t c = 0; c < 9; ++c) {
        EXPECT_EQ(elements[blocked.offset(weight.shape(), {a, b, c / 3, c % 3})],
                  weight.data<float>()[static_cast<size_t>(at++)]);
      }
    }
  }
  // Another layout, another shape of the same elements, and another constant are other entries.
  std::set<const void*> all = {packed};
  all.insert(store.packed(weight, Layout::row_major(4)));
  all.insert(store.packed(weight, Layout::channel_blocked(4, 2)));
  all.insert(store.packed(weight.reshaped({5, 7, 9, 1}), blocked));
  all.insert(store.packed(weight.clone(), blocked));
  EXPECT_EQ(all.size(), 5U);
}

TEST(WeightStore, UsesAlignedRowMajorOnesWhereTheyLie) {
  WeightStore store;
  const Tensor aligned = Tensor::zeros(ElementType::Float32, {33});
  EXPECT_EQ(store.packed(aligned, Layout::row_major(1)), aligned.raw());
  EXPECT_EQ(store.bytes(), 132);
  Tensor memory = Tensor::zeros(ElementType::Float32, {34});
  memory.data<float>()[1] = 5;
  const Tensor shifted = Tensor::view(ElementType::Float32, {33}, memory.data<float>().data() + 1);
  const void* packed = store.packed(shifted, Layout::row_major(1));
  EXPECT_NE(packed, shifted.raw());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(packed) % 64, 0U);
  EXPECT_EQ(*static_cast<const float*>(packed), 5);
}

TEST(WeightStore, KeepsWhatItHandsOut) {
  WeightStore store;
  Layout padded = Layout::row_major(2);
  padded.halo = {{1, 1}, {0, 2}};
  const float* packed = nullptr;
  {
    const Tensor gone = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
    packed = static_cast<const float*>(store.packed(gone, padded));
  }
  for (int i = 0; i < 50; ++i) {
    // New constants may not be taken for the one that is gone, whatever their address.
    const Tensor other = Tensor::of<float>({2, 2}, {9, 9, 9, 9});
    EXPECT_NE(store.packed(other, padded), packed);
  }
  for (int64_t row = -1; row < 3; ++row) {
    for (int64_t column = 0; column < 4; ++column) {
      const bool inside = row >= 0 && row < 2 && column < 2;
      EXPECT_EQ(packed[padded.offset({2, 2}, {row, column})],
                inside ? static_cast<float>(row * 2 + column + 1) : 0.0F);
    }
  }
}

TEST(WeightStore, IsSharedByThreads) {
  Random random(1);
  const Tensor weight = random_tensor(random, {64, 64, 3, 3});
  WeightStore store;
  std::vector<const void*> found(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&, i] {
      found[i] = store.packed(weight, Layout::channel_blocked(4, i % 2 == 0 ? 8 : 16));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 2; i < found.size(); ++i) EXPECT_EQ(found[i], found[i - 2]);
  EXPECT_EQ(store.bytes(), 2 * 64 * 64 * 9 * 4);
}

Operation plain(std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Operation operation;
  operation.inputs = std::move(inputs);
  operation.outputs = std::move(outputs);
  return operation;
}

TEST(OperationList, KnowsReadersAndOutputs) {
  OperationList list;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(list.add({}), i);
  list.operations = {plain({0, 0, 1}, {2}), plain({graph::kNoValue, 2, 0, 2}, {3})};
  list.outputs = {3, 1};
  const std::vector<std::vector<size_t>> expected = {{0, 1}, {0}, {1}, {}, {}};
  EXPECT_EQ(list.readers(), expected);
  EXPECT_TRUE(list.is_output(3));
  EXPECT_TRUE(list.is_output(1));
  EXPECT_FALSE(list.is_output(0));
  EXPECT_FALSE(list.is_output(graph::kNoValue));
  EXPECT_THROW(list.value(5), std::out_of_range);
  EXPECT_THROW(list.value(graph::kNoValue), std::out_of_range);
  EXPECT_NE(tensor_name(1), tensor_name(11));
}

PlanValue value(const Shape& shape, ElementType type = ElementType::Float32) {
  PlanValue made;
  made.type = type;
  made.shape = shape;
  return made;
}

/// Values 0 and 1 are read, 2 is made, by one stage of this text over v0 and v1.
OperationList one_operation(const std::string& type, const Shape& first, const Shape& second,
                            const Shape& output, const std::string& stage) {
  OperationList list;
  list.add(value(first));
  list.add(value(second));
  list.add(value(output));
  Operation operation = plain({0, 1}, {2});
  operation.kind = Operation::Kind::Expression;
  operation.type = type;
  const auto declared = [](const Shape& shape) {
    std::string text;
    for (const int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return "f32[" + text + "]";
  };
  operation.program = expression::parse("program p(v0: " + declared(first) +
                                        "; v1: " + declared(second) + ") -> v2\n  v2: " + stage);
  list.operations.push_back(std::move(operation));
  return list;
}

const char* const kConvolution =
    "f32[n: 2, o: 32, h: 8, w: 8] = sum[f32](c: 16, a: 3, b: 3)"
    " v0[n, c, h + a - 1, w + b - 1] * v1[o, c, a, b]";

TEST(Access, OfAConvolutionWantsBlocksAndItsReach) {
  const OperationList list =
      one_operation("Conv", {2, 16, 8, 8}, {32, 16, 3, 3}, {2, 32, 8, 8}, kConvolution);
  const Operation& operation = list.operations[0];
  EXPECT_EQ(layout_role(operation, list), LayoutRole::Contraction);
  const Access data = access_of(operation, 0, list, {true, false, true}, 16);
  EXPECT_EQ(data.need, Access::Need::Blocked);
  const std::vector<Layout::Halo> reach = {{0, 0}, {0, 0}, {1, 1}, {1, 1}};
  EXPECT_EQ(data.halo, reach);
  EXPECT_EQ(reach_of(operation.program, "v0"), reach);
  EXPECT_TRUE(reach_of(operation.program, "v1").empty());
  // A computed filter is read as it is; a constant one is packed as one likes.
  EXPECT_EQ(access_of(operation, 1, list, {true, false, true}, 16).need, Access::Need::RowMajor);
  OperationList constant = list;
  constant.value(1).constant = Tensor::zeros(ElementType::Float32, {32, 16, 3, 3});
  EXPECT_EQ(access_of(operation, 1, constant, {true, false, true}, 16).need, Access::Need::Any);
}

/// Binding a batch of one leaves 0 as its index; data is data all the same.
TEST(Access, OfABatchOfOneWantsBlocks) {
  const OperationList list =
      one_operation("opsmith", {1, 16, 8, 8}, {1, 16}, {1, 32, 8, 8},
                    "f32[n: 1, o: 32, h: 8, w: 8] = sum[f32](c: 16) v0[0, c, h, w] * v1[0, c]");
  const Operation& operation = list.operations[0];
  EXPECT_EQ(access_of(operation, 0, list, {true, false, true}, 16).need, Access::Need::Blocked);
  EXPECT_EQ(access_of(operation, 1, list, {true, false, true}, 16).need, Access::Need::RowMajor);
}

TEST(Access, OfASumOverTheBatchReadsBlocksAndWritesRows) {
  const OperationList list =
      one_operation("opsmith", {4, 16, 8, 8}, {4, 32, 8, 8}, {32, 16, 3, 3},
                    "f32[o: 32, c: 16, a: 3, b: 3] = sum[f32](n: 4, h: 8, w: 8)"
                    " v0[n, c, h + a - 1, w + b - 1] * v1[n, o, h, w]");
  const Operation& operation = list.operations[0];
  EXPECT_EQ(layout_role(operation, list), LayoutRole::Accumulation);
  const Access data = access_of(operation, 0, list, {true, true, false}, 16);
  EXPECT_EQ(data.need, Access::Need::Blocked);
  EXPECT_EQ(data.halo, (std::vector<Layout::Halo>{{0, 0}, {0, 0}, {1, 1}, {1, 1}}));
  EXPECT_EQ(access_of(operation, 1, list, {true, true, false}, 16).need, Access::Need::Blocked);
}

TEST(Access, OfFewChannelsStaysPlain) {
  const OperationList list =
      one_operation("Conv", {2, 3, 8, 8}, {32, 3, 3, 3}, {2, 32, 8, 8},
                    "f32[n: 2, o: 32, h: 8, w: 8] = sum[f32](c: 3, a: 3, b: 3)"
                    " v0[n, c, h + a, w + b - 2] * v1[o, c, a, b]");
  const Access data = access_of(list.operations[0], 0, list, {false, false, true}, 16);
  EXPECT_EQ(data.need, Access::Need::Plain);
  EXPECT_EQ(data.halo, (std::vector<Layout::Halo>{{0, 0}, {0, 0}, {0, 2}, {2, 0}}));
}

TEST(Access, NoHaloWhereZerosWouldBeWrong) {
  for (const char* stage :
       {"f32[n: 2, o: 32, h: 8, w: 8] = max[f32](a: 3, b: 3) v0[n, o, h + a - 1, w + b - 1]"
        " + v1[0, 0, 0, 0] fill -1",
        // Not affine, or too far to lay zeros around.
        "f32[n: 2, o: 32, h: 8, w: 8] = v0[n, o, (h * 3) / 2, w * 9] + v1[0, 0, 0, 0]"}) {
    const OperationList list =
        one_operation("MaxPool", {2, 32, 8, 8}, {1, 1, 1, 1}, {2, 32, 8, 8}, stage);
    EXPECT_TRUE(reach_of(list.operations[0].program, "v0").empty()) << stage;
  }
}

TEST(Access, OfElementwiseWorkFollowsItsOutput) {
  const OperationList list =
      one_operation("Add", {2, 32, 8, 8}, {1, 32, 1, 1}, {2, 32, 8, 8},
                    "f32[n: 2, c: 32, h: 8, w: 8] = v0[n, c, h, w] + v1[0, c, 0, 0]");
  const Operation& operation = list.operations[0];
  EXPECT_EQ(layout_role(operation, list), LayoutRole::Elementwise);
  EXPECT_EQ(access_of(operation, 0, list, {true, false, true}, 16).need, Access::Need::Blocked);
  EXPECT_EQ(access_of(operation, 0, list, {true, false, false}, 16).need, Access::Need::Plain);
  EXPECT_EQ(access_of(operation, 1, list, {true, false, true}, 16).need, Access::Need::Any);
}

TEST(Access, EverythingElseIsRowMajor) {
  OperationList list =
      one_operation("Conv", {2, 16, 8, 8}, {32, 16, 3, 3}, {2, 32, 8, 8}, kConvolution);
  Operation& operation = list.operations[0];
  operation.type = "Softmax";
  EXPECT_EQ(layout_role(operation, list), LayoutRole::RowMajor) << "it reduces";
  operation.type = "Conv";
  operation.kind = Operation::Kind::Plain;
  EXPECT_EQ(layout_role(operation, list), LayoutRole::RowMajor);
  EXPECT_EQ(access_of(operation, 0, list, {true, true, true}, 16).need, Access::Need::RowMajor);
  const OperationList flat =
      one_operation("Add", {6, 32}, {6, 32}, {6, 32}, "f32[n: 6, c: 32] = v0[n, c] + v1[n, c]");
  EXPECT_EQ(layout_role(flat.operations[0], flat), LayoutRole::RowMajor);
}

TEST(CanBlock, NeedsChannelsOfFloatsAndSpace) {
  EXPECT_TRUE(can_block(value({1, 16, 4}), 16));
  EXPECT_TRUE(can_block(value({1, 8, 4, 4, 4}), 16)) << "half a block is worth it";
  EXPECT_FALSE(can_block(value({1, 7, 4, 4}), 16));
  EXPECT_FALSE(can_block(value({1, 16}), 16));
  EXPECT_FALSE(can_block(value({1, 16, 2, 2, 2, 2}), 16));
  EXPECT_FALSE(can_block(value({1, 16, 4, 4}, ElementType::Float64), 16));
  EXPECT_FALSE(can_block(PlanValue{}, 16)) << "of no known shape";
}

TEST(StepProfile, TellsEveryStepOfARun) {
  ModelMaker m({1, 3, 8, 8});
  const ValueId hidden = m.convolution(m.x, 3, 16, 3);
  const ValueId flat = m.node("Flatten", {m.node("GlobalAveragePool", {hidden})});
  const graph::Model model = m.finish({m.node("MatMul", {flat, m.weight({16, 5})})});
  SessionOptions options;
  options.fuse = false;
  const Session session(model, opsmith::testing::shared_compiler(), options);
  const auto profile = session.profile({{"x", random_tensor(m.random(), {1, 3, 8, 8})}});
  std::map<std::string, StepProfile> steps;
  for (const StepProfile& step : profile) {
    EXPECT_GE(step.milliseconds, 0);
    EXPECT_FALSE(step.operation.empty());
    EXPECT_FALSE(step.variant.empty()) << step.operation;
    steps[step.operation] = step;
  }
  ASSERT_TRUE(steps.contains("Conv") && steps.contains("MatMul"));
  EXPECT_EQ(steps.at("Conv").multiply_accumulates, 16 * 64 * 3 * 9);
  EXPECT_EQ(steps.at("Conv").output, (Shape{1, 16, 8, 8}));
  EXPECT_EQ(steps.at("Conv").node, model.graph.nodes[0].name);
  EXPECT_EQ(steps.at("MatMul").multiply_accumulates, 80);
  EXPECT_EQ(steps.at("MatMul").output, (Shape{1, 5}));
}

}  // namespace
}  // namespace opsmith::executor
