#include "search/synthesis/tree_search.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "support/error.h"

namespace opsmith::synthesis {
namespace {

TreeSearch make_search(uint64_t seed = 1) {
  substitute::LayerShape layer;
  layer.input_channels = layer.output_channels = 16;
  layer.height = layer.width = 8;
  layer.kernel_height = layer.kernel_width = 3;
  layer.padding_top = layer.padding_left = layer.padding_bottom = layer.padding_right = 1;
  Limits limits;
  limits.depth = 8;
  limits.reductions = 3;
  limits.strides = 0;
  limits.splits = 1;
  limits.shifts = 1;
  limits.merges = 1;
  limits.least_weight = 8;
  limits.size_degree = 1;
  TreeSearchOptions options;
  options.seed = seed;
  return {problem_for({layer}, {{"k", 3}, {"s", 2}}), limits, options};
}

/// Operators that look at neighbours in both directions and are cheap.
double reward(const Sample& sample) {
  int unfolds = 0;
  const auto& region = std::get<substitute::Region>(sample.found.graph.nodes[0].operation);
  for (const substitute::Primitive& primitive : region.primitives())
    unfolds += std::holds_alternative<substitute::Unfold>(primitive) ? 1 : 0;
  return std::min(unfolds, 2) / 2.0;
}

/// Mean reward of the next operators.
double run(TreeSearch& search, int count) {
  double total = 0;
  for (int i = 0; i < count; ++i) {
    const auto ticket = search.ask();
    if (!ticket) return total / std::max(i, 1);
    const double value = reward(ticket->sample);
    search.tell(*ticket, value);
    total += value;
  }
  return total / count;
}

TEST(TreeSearchTest, LearnsWhatIsRewarded) {
  TreeSearch search = make_search();
  const double early = run(search, 40);
  run(search, 80);
  const double late = run(search, 40);
  EXPECT_GT(late, early);
}

TEST(TreeSearchTest, AsksForEachOperatorOnce) {
  TreeSearch search = make_search();
  run(search, 60);
  std::set<uint64_t> hashes;
  for (const TreeSearch::Evaluated& evaluated : search.evaluated())
    EXPECT_TRUE(hashes.insert(evaluated.hash).second);
  EXPECT_EQ(hashes.size(), 60u);
}

TEST(TreeSearchTest, ResumesWhereItWasSaved) {
  TreeSearch whole = make_search();
  run(whole, 20);
  const std::string saved = whole.save();
  run(whole, 20);
  TreeSearch resumed = make_search();
  resumed.load(saved);
  EXPECT_EQ(resumed.evaluated().size(), 20u);
  run(resumed, 20);
  EXPECT_EQ(resumed.descents(), whole.descents());
  const auto a = whole.evaluated(), b = resumed.evaluated();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].hash, b[i].hash) << i;
}

TEST(TreeSearchTest, RefusesWhatItCannotLoad) {
  TreeSearch search = make_search(2);
  EXPECT_THROW(search.load("{}"), UserError);
  EXPECT_THROW(search.load("not even JSON"), UserError);
  EXPECT_THROW(search.load(make_search(1).save()), UserError);
}

TEST(TreeSearchTest, WorkersShareIt) {
  TreeSearch search = make_search();
  const auto work = [&] { run(search, 20); };
  std::thread first(work), second(work);
  first.join();
  second.join();
  EXPECT_EQ(search.evaluated().size(), 40u);
}

TEST(TreeSearchTest, VirtualLossSendsWorkersElsewhere) {
  TreeSearch search = make_search();
  std::vector<TreeSearch::Ticket> tickets;
  std::set<uint64_t> hashes;
  for (int i = 0; i < 8; ++i) {
    const auto ticket = search.ask();
    ASSERT_TRUE(ticket.has_value());
    tickets.push_back(*ticket);
    hashes.insert(tickets.back().sample.found.hash);
  }
  EXPECT_EQ(hashes.size(), 8u);
  for (const TreeSearch::Ticket& ticket : tickets) search.tell(ticket, 0.5);
  EXPECT_THROW(search.tell(tickets[0], 1), InternalError);
}

TEST(TreeSearchTest, RewardsOfAccuracies) {
  EXPECT_EQ(accuracy_reward(0.5, 0.6, 0.9), 0);
  EXPECT_EQ(accuracy_reward(0.9, 0.6, 0.9), 1);
  EXPECT_NEAR(accuracy_reward(0.75, 0.6, 0.9), 1.0 / 16, 1e-12);
}

}  // namespace
}  // namespace opsmith::synthesis
