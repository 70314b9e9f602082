#include "search/synthesis/canvas/kernel.h"

#include <gtest/gtest.h>

#include <set>

#include "search/synthesis/canvas/designs.h"
#include "search/synthesis/canvas/identity.h"
#include "search/synthesis/canvas/pruning.h"
#include "search/synthesis/canvas/sampler.h"
#include "support/error.h"
#include "tests/search/synthesis/canvas/layers.h"

namespace opsmith::synthesis::canvas {
namespace {

Step step(Primitive primitive, int operand) {
  Step made;
  made.primitive = primitive;
  made.operands[0] = static_cast<int8_t>(operand);
  return made;
}

Step spatial(Primitive primitive, int operand, uint8_t along, int8_t amount = 0) {
  Step made = step(primitive, operand);
  made.spatial = along;
  made.amount = amount;
  return made;
}

Step function(substitute::MapFunction function, int operand, int right = -1) {
  Step made = step(right < 0 ? Primitive::ElementWise : Primitive::Broadcast, operand);
  made.operands[1] = static_cast<int8_t>(right);
  made.function = function;
  return made;
}

/// Canvas, theorem 1.
void expect_theorem_1(const Kernel& kernel) {
  for (const Node& node : kernel.nodes()) {
    int variables = 0;
    for (int d = 0; d < node.shape.dimensions(); ++d) {
      const Extent extent = node.shape.dimension(d);
      for (size_t v = FirstDynamic; v < Extent::capacity; ++v) {
        EXPECT_GE(extent.power(v), 0) << formula(kernel);
        variables += extent.power(v);
        if (d >= node.shape.rank) {
          EXPECT_EQ(extent.power(v), 0) << formula(kernel);
        }
      }
    }
    EXPECT_LE(variables, 1) << formula(kernel);
  }
}

TEST(CanvasKernel, Theorem1HoldsWhileKernelsGrow) {
  Targets targets(testing::small_layers(), 2);
  const KernelLimits limits = testing::small_limits();
  Random random(1);
  Grower grower(targets, limits, random);
  int complete = 0;
  for (int round = 0; round < 2000; ++round) {
    Kernel kernel;
    complete += grower.grow(kernel) ? 1 : 0;  // also where it came to a dead end
    expect_theorem_1(kernel);
  }
  EXPECT_GT(complete, 200);
}

TEST(CanvasKernel, SamplesAreDistinctAndLegal) {
  SamplingOptions options;
  options.kernels = 300;
  const SamplingResult result = sample(testing::small_layers(), testing::small_limits(), options);
  EXPECT_GE(result.distinct, 300);
  std::set<uint64_t> hashes;
  for (const Sample& sample : result.samples) {
    EXPECT_TRUE(hashes.insert(sample.hash).second);
    EXPECT_EQ(sample.kernel.leaves(), 1);
    EXPECT_EQ(sample.kernel.nodes().back().looks, AlongBoth);
    Extent channels;
    channels.set_power(Channels, 1);
    EXPECT_EQ(sample.kernel.nodes().back().shape.channel_product(), channels);
  }
  const SamplingResult again = sample(testing::small_layers(), testing::small_limits(), options);
  ASSERT_EQ(again.samples.size(), result.samples.size());
  for (size_t i = 0; i < again.samples.size(); ++i)
    EXPECT_EQ(formula(again.samples[i].kernel), formula(result.samples[i].kernel));
}

/// Each step takes a type evenly from those that have a legal instance: how often a type is taken
/// is a sum of independent choices with known expectation, of which 5 deviations are not exceeded.
TEST(CanvasKernel, TypesAreTakenEvenly) {
  Targets targets(testing::small_layers(), 2);
  const KernelLimits limits = testing::small_limits();
  Random random(7);
  Grower grower(targets, limits, random);
  TypeCounts counts;
  grower.count_types(&counts);
  for (int round = 0; round < 500; ++round) {
    Kernel kernel;
    grower.grow(kernel);
  }
  for (size_t type = 0; type < primitive_types; ++type)
    EXPECT_NEAR(static_cast<double>(counts.taken[type]), counts.expected[type],
                5 * std::sqrt(counts.expected[type]))
        << to_string(static_cast<Primitive>(type));
}

TEST(CanvasKernel, IdentityIgnoresTheOrderOfNodesAndOperands) {
  using substitute::MapFunction;
  Kernel first, second, third;
  first.append(step(Primitive::FullyConnected, 0));
  first.append(spatial(Primitive::Shift, 0, AlongBoth, 1));
  first.append(function(MapFunction::Add, 1, 2));
  Extent c;
  c.set_power(Channels, 1);
  first.substitute(static_cast<int>(FirstDynamic), c);
  second.append(spatial(Primitive::Shift, 0, AlongBoth, 1));
  second.append(step(Primitive::FullyConnected, 0));
  second.substitute(static_cast<int>(FirstDynamic), c);
  second.append(function(MapFunction::Add, 1, 2));
  third.append(spatial(Primitive::Shift, 0, AlongBoth, -1));
  third.append(step(Primitive::FullyConnected, 0));
  third.substitute(static_cast<int>(FirstDynamic), c);
  third.append(function(MapFunction::Add, 1, 2));
  EXPECT_EQ(identity(first, 2), identity(second, 2));
  EXPECT_EQ(identity(first, 2), identity(first, 4));  // nothing is grouped
  EXPECT_NE(identity(first, 2), identity(third, 2));
}

TEST(CanvasKernel, IdentityTellsOneProductFromTwo) {
  using substitute::MapFunction;
  Extent c;
  c.set_power(Channels, 1);
  Kernel one, two;
  one.append(step(Primitive::FullyConnected, 0));
  one.append(function(MapFunction::Sin, 1));
  one.append(function(MapFunction::Tanh, 1));
  one.append(function(MapFunction::Multiply, 2, 3));
  two.append(step(Primitive::FullyConnected, 0));
  two.append(function(MapFunction::Sin, 1));
  two.append(step(Primitive::FullyConnected, 0));
  two.append(function(MapFunction::Tanh, 3));
  two.append(function(MapFunction::Multiply, 2, 4));
  EXPECT_NE(identity(one, 2), identity(two, 2));
}

TEST(CanvasKernel, GroupChoicesDivideAllChannels) {
  EXPECT_EQ(Targets::group_choices(
                {testing::convolution(32, 32, 4, 4), testing::convolution(48, 48, 4, 4)}),
            (std::vector<int64_t>{2, 4, 8, 16}));  // Canvas, section 6.3
  EXPECT_THROW(Targets({testing::convolution(4, 6, 4, 4)}, 2), UserError);
  EXPECT_THROW(Targets({testing::convolution(6, 6, 4, 4)}, 4), UserError);
}

/// Every pruning rule forbids something on the way, and forbids nothing twice.
TEST(CanvasKernel, EveryPruningRuleIsUsed) {
  SamplingOptions options;
  options.kernels = 1500;
  const SamplingResult result = sample(testing::small_layers(), testing::small_limits(), options);
  std::set<std::string> names;
  for (size_t i = 0; i < result.pruned.size(); ++i) {
    EXPECT_GT(result.pruned[i], 0) << pruning_rules()[i].name;
    EXPECT_TRUE(names.insert(pruning_rules()[i].name).second);
  }
}

std::set<std::string> designs_of(const Kernel& kernel) {
  std::set<std::string> found;
  for (const KnownDesign& design : known_designs())
    if (design.found_in(kernel)) found.insert(design.name);
  return found;
}

TEST(CanvasKernel, KnownDesignsAreRecognised) {
  using substitute::MapFunction;
  Kernel depthwise;
  Step each = step(Primitive::Group, 0);
  each.each_channel = true;
  depthwise.append(each);
  depthwise.append(spatial(Primitive::Unfold, 1, AlongBoth));
  depthwise.append(step(Primitive::FullyConnected, 2));
  depthwise.append(step(Primitive::FullyConnected, 3));
  EXPECT_EQ(designs_of(depthwise), (std::set<std::string>{"depthwise separable"}));

  Kernel separable;
  separable.append(spatial(Primitive::Unfold, 0, AlongHeight));
  separable.append(step(Primitive::FullyConnected, 1));
  separable.append(spatial(Primitive::Unfold, 2, AlongWidth));
  separable.append(step(Primitive::FullyConnected, 3));
  EXPECT_EQ(designs_of(separable), (std::set<std::string>{"spatially separable"}));

  Kernel shifted;
  shifted.append(spatial(Primitive::Shift, 0, AlongBoth, 1));
  shifted.append(step(Primitive::FullyConnected, 1));
  shifted.append(function(MapFunction::Add, 0, 2));
  EXPECT_EQ(designs_of(shifted), (std::set<std::string>{"residual", "shift"}));

  Kernel gate;
  gate.append(spatial(Primitive::Fold, 0, AlongBoth));
  gate.append(step(Primitive::FullyConnected, 1));
  gate.append(function(MapFunction::Sigmoid, 2));
  gate.append(function(MapFunction::Multiply, 3, 0));
  EXPECT_EQ(designs_of(gate), (std::set<std::string>{"squeeze-and-excitation"}));

  Kernel involution;
  involution.append(step(Primitive::FullyConnected, 0));
  involution.append(spatial(Primitive::Unfold, 0, AlongBoth));
  involution.append(function(MapFunction::Multiply, 1, 2));
  Step fold = step(Primitive::Fold, 3);
  fold.first = 2;
  involution.append(fold);
  EXPECT_EQ(designs_of(involution), (std::set<std::string>{"involution"}));
}

}  // namespace
}  // namespace opsmith::synthesis::canvas
