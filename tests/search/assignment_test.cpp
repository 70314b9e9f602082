#include "search/assignment/assignment.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/random.h"

namespace opsmith::search {
namespace {

std::vector<LayerOptions> random_layers(Random& random, int64_t layers, int64_t options) {
  std::vector<LayerOptions> result;
  for (int64_t i = 0; i < layers; ++i) {
    LayerOptions layer;
    for (int64_t o = 0; o < options; ++o) {
      Option option;
      for (double& cost : option.cost) cost = random.uniform(0, 10);
      option.loss = o == 0 ? 0 : random.uniform();
      option.family = o == 0 ? "" : "family " + std::to_string(o % 2);
      layer.push_back(option);
    }
    result.push_back(layer);
  }
  return result;
}

bool within(const Resources& cost, const Resources& limits) {
  for (size_t r = 0; r < kResources; ++r) {
    if (cost[r] > limits[r] * (1 + 1e-9)) return false;
  }
  return true;
}

/// The least loss over every combination; infinity when none fits.
double brute_force(const std::vector<LayerOptions>& layers, const Resources& limits) {
  double best = std::numeric_limits<double>::infinity();
  std::vector<size_t> choice(layers.size());
  std::function<void(size_t)> visit = [&](size_t i) {
    if (i == layers.size()) {
      if (within(total_cost(layers, choice), limits)) {
        best = std::min(best, total_loss(layers, choice));
      }
      return;
    }
    for (choice[i] = 0; choice[i] < layers[i].size(); ++choice[i]) visit(i + 1);
    choice[i] = 0;
  };
  visit(0);
  return best;
}

TEST(Assignment, IsTheBestUnderRandomLimits) {
  Random random(3);
  int impossible = 0;
  for (int repetition = 0; repetition < 300; ++repetition) {
    const auto layers = random_layers(random, 5, 4);
    Resources limits = kUnlimited;
    for (double& limit : limits) {
      if (random.uniform() < 0.6) limit = random.uniform(5, 35);
    }
    const double best = brute_force(layers, limits);
    const auto found = assign(layers, limits);
    ASSERT_EQ(found.has_value(), std::isfinite(best));
    if (!found) {
      ++impossible;
      continue;
    }
    EXPECT_TRUE(within(total_cost(layers, *found), limits));
    EXPECT_DOUBLE_EQ(total_loss(layers, *found), best);
  }
  EXPECT_GT(impossible, 10);
  EXPECT_LT(impossible, 290);
}

TEST(Assignment, HoldsTheLimitAndComesCloseWhenThereAreManyLayers) {
  Random random(5);
  const auto layers = random_layers(random, 60, 12);
  Resources limits = kUnlimited;
  limits[kMacs] = 1.5 * least_cost(layers)[kMacs];
  const auto found = assign(layers, limits);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(within(total_cost(layers, *found), limits));
  // A Lagrangian lower bound: for any price the relaxed problem is at most the optimum.
  double bound = 0;
  for (double price = 0; price < 2; price += 0.001) {
    double relaxed = -price * limits[kMacs];
    for (const auto& options : layers) {
      double least = std::numeric_limits<double>::infinity();
      for (const Option& option : options) {
        least = std::min(least, option.loss + price * option.cost[kMacs]);
      }
      relaxed += least;
    }
    bound = std::max(bound, relaxed);
  }
  EXPECT_GE(total_loss(layers, *found), bound - 1e-9);
  EXPECT_LT(total_loss(layers, *found), bound + 0.3);
}

TEST(Assignment, WithoutLimitsEverythingStaysAlone) {
  Random random(7);
  const auto layers = random_layers(random, 4, 3);
  EXPECT_EQ(assign(layers, kUnlimited), (std::vector<size_t>{0, 0, 0, 0}));
}

TEST(Assignment, SingleFamilyUsesOneEverywhere) {
  Random random(11);
  for (int repetition = 0; repetition < 20; ++repetition) {
    auto layers = random_layers(random, 4, 5);
    layers[2].resize(1);  // no operator fits this layer
    Resources limits = kUnlimited;
    limits[kMacs] = 30;
    const auto found = assign_single_family(layers, limits);
    if (!found) continue;
    EXPECT_TRUE(within(total_cost(layers, *found), limits));
    EXPECT_EQ((*found)[2], 0u);
    EXPECT_FALSE(layers[0][(*found)[0]].family.empty());
    for (const size_t i : {0u, 1u, 3u}) {
      EXPECT_EQ(layers[i][(*found)[i]].family, layers[0][(*found)[0]].family);
    }
    const auto free = assign(layers, limits);
    ASSERT_TRUE(free.has_value());
    EXPECT_LE(total_loss(layers, *free), total_loss(layers, *found) + 1e-12);
  }
}

}  // namespace
}  // namespace opsmith::search
