#include "search/synthesis/canvas/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/search/synthesis/canvas/layers.h"

namespace opsmith::synthesis::canvas {
namespace {

/// Canvas, figure 3: [G*K_H, H, W] is broadcast into [x_1, H, W], with G = 4 and K = 3 and 5 and
/// four times the channels in the second layer.
Kernel figure_3() {
  Kernel kernel;
  Step step;
  const auto on = [&](Primitive primitive, int operand) -> Step& {
    step = Step{};
    step.primitive = primitive;
    step.operands[0] = static_cast<int8_t>(operand);
    return step;
  };
  kernel.append(on(Primitive::Group, 0));  // [G, C/G]
  on(Primitive::Fold, 1).first = 1;        // [G]
  kernel.append(step);
  on(Primitive::Unfold, 2).spatial = AlongHeight;  // [G, K_H]
  kernel.append(step);
  kernel.append(on(Primitive::FullyConnected, 0));  // [x_1]
  on(Primitive::Broadcast, 3).operands[1] = 4;
  step.function = substitute::MapFunction::Multiply;
  kernel.append(step);
  return kernel;
}

std::vector<substitute::LayerShape> figure_3_layers() {
  return {testing::convolution(16, 16, 8, 8, 3), testing::convolution(64, 64, 4, 4, 5)};
}

VariableValues figure_3_base() {
  const Targets targets(figure_3_layers(), 4);
  const Kernel kernel = figure_3();
  const VariableValues multiples = required_multiples(targets, kernel, kernel.free_variables());
  EXPECT_EQ(multiples, (VariableValues{{12}, {20}}));
  return base_values(multiples, {16, 64}, {true});
}

TEST(BudgetSolver, Figure3StartsAt12And60) {
  EXPECT_EQ(figure_3_base(), (VariableValues{{12}, {60}}));
}

TEST(BudgetSolver, Figure3DoublesTwiceTo48And240) {
  VariableValues values = figure_3_base();
  // The least change first, relative to each layer's own channels; four times both fit.
  EXPECT_TRUE(use_budget(values, [](size_t layer, const std::vector<int64_t>& x) {
    return std::vector<double>{static_cast<double>(x[0]) / (layer == 0 ? 12 : 60) / 8};
  }));
  EXPECT_EQ(values, (VariableValues{{48}, {240}}));
}

TEST(BudgetSolver, LeavesWhatExceedsABudgetFromTheStart) {
  VariableValues values = {{4}, {8}};
  EXPECT_FALSE(use_budget(values, [](size_t, const std::vector<int64_t>& x) {
    return std::vector<double>{static_cast<double>(x[0]) / 10};
  }));
  EXPECT_EQ(values, (VariableValues{{4}, {8}}));
}

TEST(BudgetSolver, EndsWhereAWidthCostsNothing) {
  VariableValues values = {{1, 1}};
  EXPECT_TRUE(use_budget(values, [](size_t, const std::vector<int64_t>& x) {
    return std::vector<double>{static_cast<double>(x[1]) / 9,
                               x[1] > 4 ? std::numeric_limits<double>::infinity() : 0.0};
  }));
  EXPECT_EQ(values, (VariableValues{{1, 4}}));
}

TEST(BudgetSolver, NothingMoreFitsAfterwards) {
  const std::vector<double> prices = {3, 5, 7, 11};
  const auto use = [&](size_t layer, const std::vector<int64_t>& x) {
    return std::vector<double>{(prices[2 * layer] * static_cast<double>(x[0]) +
                                prices[2 * layer + 1] * static_cast<double>(x[0] * x[1])) /
                                   5000,
                               static_cast<double>(x[0] + x[1]) / 300};
  };
  VariableValues values = {{1, 2}, {3, 4}};
  ASSERT_TRUE(use_budget(values, use));
  const auto fits = [&](const VariableValues& v) {
    const auto a = use(0, v[0]), b = use(1, v[1]);
    return a[0] + b[0] <= 1 && a[1] + b[1] <= 1;
  };
  EXPECT_TRUE(fits(values));
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 2; ++j) {
      VariableValues more = values;
      more[i][j] *= 2;
      EXPECT_FALSE(fits(more)) << i << ", " << j;
    }
}

}  // namespace
}  // namespace opsmith::synthesis::canvas
