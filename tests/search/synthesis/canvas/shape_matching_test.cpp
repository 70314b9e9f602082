#include "search/synthesis/canvas/shape_matching.h"

#include <gtest/gtest.h>

#include <set>

#include "support/random.h"
#include "tests/search/synthesis/canvas/layers.h"

namespace opsmith::synthesis::canvas {
namespace {

Extent extent(std::initializer_list<std::pair<size_t, int>> powers) {
  Extent made;
  for (const auto& [variable, power] : powers) made.set_power(variable, power);
  return made;
}

TensorShape shape(std::vector<Extent> channels, uint8_t spatial = AlongBoth) {
  TensorShape made;
  for (const Extent& channel : channels) made.channels[static_cast<size_t>(made.rank++)] = channel;
  made.spatial = spatial;
  return made;
}

std::set<std::string> texts(const std::vector<Match>& matches) {
  std::set<std::string> result;
  for (const Match& match : matches) {
    EXPECT_EQ(match.variable, static_cast<int>(FirstDynamic));
    result.insert(to_string(to_size(match.by)));
  }
  return result;
}

const Extent x1 = extent({{FirstDynamic, 1}}), x2 = extent({{FirstDynamic + 1, 1}});
const Extent c = extent({{Channels, 1}}), kh = extent({{KernelHeight, 1}}),
             kw = extent({{KernelWidth, 1}}), g = extent({{Groups, 1}});

/// Canvas, section 6.2: [x_1, H, W] to [C, K_H, H, W]; the paper does not list the constant 1.
TEST(ShapeMatching, FindsAllFactorsOfStaticDimensions) {
  Targets targets(testing::small_layers(), 2);
  EXPECT_EQ(texts(match_shapes(targets, shape({x1}), shape({c, kh}))),
            (std::set<std::string>{"1", "C", "kh", "g", "C/g", "C*kh", "g*kh", "C*kh/g"}));
}

/// Canvas, section 6.2: [x_1, K_H, H, W] to [G, x_2/G, K_H, K_W, H, W].
TEST(ShapeMatching, FindsFactorsWithAnotherVariable) {
  Targets targets(testing::small_layers(), 2);
  // The height windows are not at the end of both: nothing is stripped but H and W.
  const auto found = match_shapes(targets, shape({x1, kh}), shape({g, x2 / g, kh, kw}));
  EXPECT_EQ(texts(found), (std::set<std::string>{"1", "x_2", "kw", "kw*x_2"}));
}

TEST(ShapeMatching, RepeatsWholeNumbersOnly) {
  Targets targets({testing::convolution(6, 6, 4, 4)}, 3);
  EXPECT_EQ(match_shapes(targets, shape({g}), shape({c})).size(), 1u);
  EXPECT_TRUE(match_shapes(targets, shape({c}), shape({g})).empty());
  EXPECT_TRUE(match_shapes(targets, shape({c, kh}), shape({c, c})).size() == 1u);  // 6 / 3
  Targets narrow({testing::convolution(4, 4, 4, 4)}, 2);
  EXPECT_TRUE(match_shapes(narrow, shape({c, kh}), shape({c, c})).empty());  // 4 / 3
}

TEST(ShapeMatching, TakesChannelsIntoAWidthOnTheRight) {
  Targets targets(testing::small_layers(), 2);
  const auto found = match_shapes(targets, shape({c}), shape({x1}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(to_string(to_size(found[0].by)), "C*x_1");
  // A width that only has to be a multiple of a coefficient stays.
  const auto kept = match_shapes(targets, shape({g}), shape({x1}));
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0], Match{});
}

TEST(ShapeMatching, EveryFactorAndItsRestMultiplyBack) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    Extent n = extent({{Channels, static_cast<int>(random.integer(0, 2))},
                       {Height, static_cast<int>(random.integer(0, 1))},
                       {KernelHeight, static_cast<int>(random.integer(0, 2))},
                       {FirstDynamic, static_cast<int>(random.integer(0, 1))}});
    n.set_power(Groups,
                static_cast<int>(random.integer(-n.power(Channels) - n.power(FirstDynamic), 2)));
    const std::vector<Extent> all = factors(n);
    const std::set<Extent> distinct(all.begin(), all.end());
    EXPECT_EQ(distinct.size(), all.size());
    for (const Extent& factor : all) EXPECT_TRUE(distinct.count(n / factor) == 1);
    EXPECT_EQ(distinct.count(Extent{}), 1u);
    EXPECT_EQ(distinct.count(n), 1u);
  }
}

}  // namespace
}  // namespace opsmith::synthesis::canvas
