#include "substitute/targets/target.h"

#include <gtest/gtest.h>

#include "substitute/targets/cost.h"
#include "support/error.h"
#include "tests/substitute/targets/models.h"

namespace opsmith::substitute {
namespace {

const Target& named(const std::vector<Target>& targets, const std::string& name) {
  for (const Target& target : targets) {
    if (target.name == name) return target;
  }
  throw InternalError("no target " + name);
}

TEST(Targets, FindsConvolutionsAndProductsWithTheirCost) {
  const graph::Model model = small_network();
  const std::vector<Target> targets = find_targets(model);
  ASSERT_EQ(targets.size(), 4u);
  const Target& conv = named(targets, "conv");
  EXPECT_TRUE(conv.replaceable()) << conv.reason;
  EXPECT_EQ(conv.shape.input_channels, 8);
  EXPECT_EQ(conv.shape.output_channels, 16);
  EXPECT_EQ(conv.shape.kernel_height, 3);
  EXPECT_EQ(conv.shape.stride, 2);
  EXPECT_EQ(conv.macs, 16 * 8 * 9 * 6 * 6);
  EXPECT_EQ(conv.parameters, 16 * 8 * 9 + 16);
  const Target& product = named(targets, "product");
  EXPECT_TRUE(product.replaceable()) << product.reason;
  EXPECT_EQ(product.shape.kind, LayerShape::Kind::Product);
  EXPECT_EQ(product.macs, 16 * 6 * 6 * 24);
  EXPECT_EQ(model_macs(model), 8 * 9 * 12 * 12 + 8 * 9 * 12 * 12 + conv.macs + product.macs);
}

TEST(Targets, SaysWhyNothingFits) {
  const std::vector<Target> targets = find_targets(small_network());
  EXPECT_EQ(named(targets, "stem").reason, "it has only 1 input channel");
  EXPECT_EQ(named(targets, "depthwise").reason, "it is depthwise already");
}

TEST(Targets, ExcludesByName) {
  const std::vector<Target> targets = find_targets(small_network(), {"conv"});
  EXPECT_EQ(named(targets, "conv").reason, "excluded");
  try {
    find_targets(small_network(), {"convolution"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("convolution"), std::string::npos);
  }
}

TEST(Targets, AComputedWeightIsNoTarget) {
  graph::Model model = small_network();
  for (graph::Node& node : model.graph.nodes) {
    if (node.name == "conv") node.inputs[1] = model.graph.inputs.front();
  }
  EXPECT_EQ(named(find_targets(model), "conv").reason, "its weight is computed, not constant");
}

TEST(Targets, SettingTheOriginalMapChangesNothing) {
  graph::Model model = small_network();
  for (const Target& target : find_targets(model)) {
    if (!target.replaceable()) continue;
    const LinearMap before = original_map(model.graph, target);
    ASSERT_TRUE(set_map(model.graph, target, before));
    const LinearMap after = original_map(model.graph, target);
    EXPECT_EQ(before.kernel, after.kernel);
    EXPECT_EQ(before.bias, after.bias);
  }
}

}  // namespace
}  // namespace opsmith::substitute
