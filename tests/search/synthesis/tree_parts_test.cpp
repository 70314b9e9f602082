#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "search/synthesis/dimension.h"
#include "search/synthesis/tree_policy.h"
#include "search/synthesis/tree_statistics.h"
#include "support/random.h"

// What a tree search is made of: statistics of rewards, the way down, and the coordinates that
// operators are grown from.

namespace opsmith::synthesis {
namespace {

TEST(RewardStatistics, AreMeanAndVarianceOfTheRewards) {
  opsmith::Random random(3);
  for (const size_t count : {1, 2, 7, 1000}) {
    RewardStatistics statistics;
    std::vector<double> rewards;
    for (size_t i = 0; i < count; ++i) {
      rewards.push_back(1000 + random.uniform());
      statistics.add(rewards.back());
    }
    double mean = 0, squares = 0;
    for (const double reward : rewards) mean += reward / static_cast<double>(count);
    for (const double reward : rewards) squares += (reward - mean) * (reward - mean);
    EXPECT_EQ(statistics.visits, static_cast<int64_t>(count));
    EXPECT_NEAR(statistics.mean, mean, 1e-9);
    EXPECT_NEAR(statistics.squares, squares, 1e-6);
  }
}

TEST(RewardStatistics, BoundFavoursTheUnknown) {
  RewardStatistics fresh;
  EXPECT_EQ(fresh.upper_bound(10, 1, 0.3), INFINITY);
  fresh.pending = 2;
  EXPECT_DOUBLE_EQ(fresh.upper_bound(10, 1, 0.3), -0.6) << "under way already";
  // UCB1-tuned by hand: rewards 0 and 1 among 10 visits of the parent.
  RewardStatistics two;
  two.add(0);
  two.add(1);
  const double log = std::log(10.0);
  EXPECT_DOUBLE_EQ(two.upper_bound(10, 2, 0), 0.5 + 2 * std::sqrt(log / 2 * 0.25))
      << "the spread of rewards in [0, 1] is at most a quarter";
  RewardStatistics steady;
  for (int i = 0; i < 100000; ++i) steady.add(0.5);
  EXPECT_DOUBLE_EQ(steady.upper_bound(100000, 1, 0),
                   0.5 + std::sqrt(std::log(1e5) / 1e5 * std::sqrt(2 * std::log(1e5) / 1e5)));
  EXPECT_EQ(two.upper_bound(0, 1, 0), 0.5) << "a parent without visits";
  two.pending = 3;
  EXPECT_DOUBLE_EQ(two.upper_bound(0, 1, 0.1), 0.2);
  // More visits with the same rewards: a lower bound. More visits of the parent: a higher one.
  RewardStatistics four = two;
  four.add(0);
  four.add(1);
  EXPECT_LT(four.upper_bound(10, 1, 0), two.upper_bound(10, 1, 0));
  EXPECT_LT(two.upper_bound(10, 1, 0), two.upper_bound(20, 1, 0));
}

TEST(NodeStatistics, KeepsEveryChoiceApart) {
  NodeStatistics node;
  for (int kind = 0; kind <= Move::kinds; ++kind) node.choice(kind).visits = kind + 1;
  for (int kind = 0; kind <= Move::kinds; ++kind) EXPECT_EQ(node.choice(kind).visits, kind + 1);
  EXPECT_EQ(&node.choice(TreePolicy::end_choice), &node.end);
  EXPECT_EQ(node.all.visits, 0);
}

struct Setting {
  Problem problem;
  Limits limits;
  TreeSearchOptions options;
};

Setting small(int depth) {
  substitute::LayerShape layer;
  layer.input_channels = layer.output_channels = 16;
  layer.height = layer.width = 8;
  layer.kernel_height = layer.kernel_width = 3;
  layer.padding_top = layer.padding_left = layer.padding_bottom = layer.padding_right = 1;
  Setting setting{problem_for({layer}, {{"k", 3}}), {}, {}};
  Limits& limits = setting.limits;
  limits.depth = depth;
  limits.reductions = 2;
  limits.strides = 0;
  limits.splits = 0;
  limits.shifts = 1;
  limits.merges = 0;
  limits.least_weight = 8;
  limits.size_degree = 1;
  return setting;
}

/// Hashes of all complete states below the root.
std::set<uint64_t> all_ends(const Setting& setting) {
  Space space(setting.problem, setting.limits);
  Enumerator enumerator(space);
  StateGraph graph(enumerator);
  std::set<uint64_t> seen, ends;
  std::vector<StateNode*> open = {graph.root()};
  while (!open.empty()) {
    StateNode* node = open.back();
    open.pop_back();
    if (!seen.insert(node->state.hash()).second) continue;
    if (node->complete) ends.insert(node->state.hash());
    for (int kind = 0; kind < Move::kinds; ++kind) {
      for (StateNode::Child* child : graph.children(node, static_cast<Move::Kind>(kind))) {
        open.push_back(graph.follow(node, *child));
      }
    }
  }
  return ends;
}

TEST(TreePolicy, FindsEveryEndOnceWhenEachIsRefused) {
  const Setting setting = small(4);
  const std::set<uint64_t> expected = all_ends(setting);
  ASSERT_GT(expected.size(), 3U);
  TreePolicy policy(setting.problem, setting.limits, setting.options);
  std::set<uint64_t> found;
  for (int i = 0; i < 100000 && !policy.exhausted(); ++i) {
    TreePolicy::Path path;
    const StateNode* end = policy.descend(path);
    policy.finish(path, 0.5, false);
    if (end == nullptr) continue;
    EXPECT_TRUE(end->complete);
    ASSERT_FALSE(path.empty());
    EXPECT_EQ(path.back().choice, TreePolicy::end_choice);
    EXPECT_EQ(path.back().state, end->state.hash());
    EXPECT_TRUE(found.insert(end->state.hash()).second) << "met again after it was refused";
    policy.refuse_end(end->state);
  }
  EXPECT_TRUE(policy.exhausted());
  EXPECT_EQ(found, expected);
  TreePolicy::Path path;
  EXPECT_EQ(policy.descend(path), nullptr);
}

TEST(TreePolicy, StatisticsAddUpAlongThePath) {
  const Setting setting = small(5);
  TreePolicy policy(setting.problem, setting.limits, setting.options);
  const uint64_t root = policy.space().root().hash();
  double total = 0;
  opsmith::Random random(5);
  int64_t finished = 0;
  for (int i = 0; i < 100; ++i) {
    TreePolicy::Path path;
    if (policy.descend(path) == nullptr) continue;
    EXPECT_EQ(path.front().state, root);
    policy.start(path);
    EXPECT_EQ(policy.nodes.at(root).all.pending, 1);
    const double reward = random.uniform();
    policy.finish(path, reward, true);
    total += reward;
    ++finished;
  }
  ASSERT_GT(finished, 10);
  EXPECT_EQ(policy.descents, 100U);
  const NodeStatistics& node = policy.nodes.at(root);
  EXPECT_EQ(node.all.visits, finished);
  EXPECT_NEAR(node.all.mean, total / static_cast<double>(finished), 1e-12);
  for (auto& [hash, statistics] : policy.nodes) {
    int64_t visits = statistics.end.visits;
    for (const RewardStatistics& kind : statistics.kinds) visits += kind.visits;
    EXPECT_EQ(visits, statistics.all.visits);
    EXPECT_EQ(statistics.all.pending, 0);
  }
}

TEST(TreePolicy, OneSeedGoesOneWay) {
  const auto way = [](uint64_t seed) {
    Setting setting = small(5);
    setting.options.seed = seed;
    TreePolicy policy(setting.problem, setting.limits, setting.options);
    std::vector<uint64_t> states;
    for (int i = 0; i < 20; ++i) {
      TreePolicy::Path path;
      policy.descend(path);
      for (const TreePolicy::Step& step : path) states.push_back(step.state + step.move);
      policy.finish(path, 0.1 * i / 2, false);
    }
    return states;
  };
  EXPECT_EQ(way(1), way(1));
  EXPECT_NE(way(1), way(2));
}

std::vector<Variable> variables() {
  return {{"C", {16, 32}, false}, {"H", {8, 4}, true}, {"k", {3, 3}, false}, {"s", {2, 2}, false}};
}

const SizeInfo* size_of(SizeTable& sizes, size_t variable) {
  Extent extent;
  extent.set_power(variable, 1);
  return sizes.find(extent);
}

/// One dimension of each kind, made in the order that `reversed` says.
std::vector<const Dimension*> one_of_each(DimensionStore& store, bool reversed = false) {
  SizeTable& sizes = store.sizes();
  const SizeInfo *c = size_of(sizes, 0), *h = size_of(sizes, 1), *k = size_of(sizes, 2),
                 *s = size_of(sizes, 3);
  if (reversed) store.shift(store.reduce(3, c));
  const Dimension* channel = store.iterator(0, c, false);
  const Dimension* row = store.iterator(1, h, true);
  const Dimension* window = store.reduce(0, k);
  return {channel,
          row,
          window,
          store.split(channel, window),
          store.split(window, channel),
          store.merge_outer(channel, s),
          store.merge_inner(channel, s),
          store.shift(row),
          store.unfold(row, window),
          store.stride(row, s),
          store.share(channel, 0),
          store.share(channel, 1)};
}

TEST(DimensionStore, KeepsOneObjectForEach) {
  SizeTable sizes(variables()), others(variables());
  DimensionStore store(sizes), other(others);
  const auto first = one_of_each(store);
  EXPECT_EQ(one_of_each(store), first);
  EXPECT_EQ(store.count(), first.size());
  EXPECT_EQ((std::set<const Dimension*>(first.begin(), first.end()).size()), first.size());
  const auto elsewhere = one_of_each(other, true);
  std::set<uint64_t> hashes;
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i]->hash, elsewhere[i]->hash) << "the same in every store";
    EXPECT_TRUE(hashes.insert(first[i]->hash).second);
  }
}

TEST(Dimension, KnowsWhatFollowsFromItsStructure) {
  SizeTable sizes(variables());
  DimensionStore store(sizes);
  const SizeInfo *c = size_of(sizes, 0), *h = size_of(sizes, 1), *k = size_of(sizes, 2),
                 *s = size_of(sizes, 3);
  const Dimension* channel = store.iterator(0, c, false);
  const Dimension* row = store.iterator(1, h, true);
  const Dimension* window = store.reduce(0, k);

  const Dimension* split = store.split(channel, window);
  EXPECT_EQ(split->extent, sizes.product(c, k));
  EXPECT_FALSE(split->reduced) << "an iterator is in it";
  EXPECT_TRUE(store.split(window, store.reduce(1, s))->reduced);
  EXPECT_EQ(split->reshapes, 1);
  const Dimension* merged = store.merge_outer(split, s);
  EXPECT_EQ(merged->extent, sizes.quotient(sizes.product(c, k), s));
  EXPECT_EQ(merged->reshapes, 2);
  EXPECT_EQ(store.merge_inner(split, s)->extent, s);
  EXPECT_EQ(store.shift(merged)->reshapes, 0) << "no longer in a row";

  const Dimension* unfolded = store.unfold(channel, window);
  EXPECT_EQ(unfolded->extent, c);
  EXPECT_TRUE(unfolded->unfolded);
  EXPECT_TRUE(unfolded->ordered) << "neighbours mean something from here on";
  EXPECT_FALSE(channel->ordered);
  EXPECT_TRUE(store.shift(row)->ordered);
  const Dimension* strided = store.stride(row, s);
  EXPECT_EQ(strided->extent, sizes.product(h, s));
  EXPECT_TRUE(strided->strided);
  EXPECT_FALSE(store.unfold(strided, window)->strided) << "consumed";

  const Dimension* shared = store.share(store.share(unfolded, 0), 2);
  EXPECT_EQ(beneath_shares(shared), unfolded);
  EXPECT_EQ(beneath_shares(row), row);
  EXPECT_EQ(shared->extent, c);
  EXPECT_EQ(shared->weight, 2);
  EXPECT_EQ(store.split(shared, window)->weight, 2);
  EXPECT_EQ(store.split(window, store.share(row, 1))->weight, 1);
  EXPECT_EQ(row->weight, -1);
}

}  // namespace
}  // namespace opsmith::synthesis
