#include "search/synthesis/rules/rule.h"

#include <gtest/gtest.h>

#include <set>

#include "search/synthesis/sampler.h"
#include "search/synthesis/state_graph.h"
#include "tests/search/synthesis/meaning.h"

namespace opsmith::synthesis {
namespace {

Axis axis(const std::string& name, const std::string& size, bool ordered) {
  return {name, substitute::parse_size(size), ordered};
}

/// All meanings that enumeration reaches, each with a formula.
std::map<uint64_t, std::string> meanings(const Problem& problem, const Limits& limits,
                                         EnumerationCounters* counters = nullptr) {
  std::map<uint64_t, std::string> found;
  Space space(problem, limits);
  Enumerator enumerator(space);
  StateGraph graph(enumerator);
  std::set<StateNode*> seen;
  std::vector<StateNode*> open = {graph.root()};
  while (!open.empty()) {
    StateNode* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    for (const auto& match : matches(space, node->state)) {
      const testing::Meaning meaning(space, node->state, match);
      if (!meaning.empty())
        found.emplace(meaning.signature(), formula(finish(space, node->state, match).graph));
    }
    for (int kind = 0; kind < Move::kinds; ++kind)
      for (StateNode::Child* child : graph.children(node, static_cast<Move::Kind>(kind)))
        open.push_back(graph.follow(node, *child));
  }
  if (counters != nullptr) *counters = enumerator.counters();
  return found;
}

Limits exhaustive(int depth) {
  Limits limits;
  limits.depth = depth;
  limits.least_weight = 1;
  limits.unfold_ratio = 1;
  limits.finalizations = 24;
  limits.approximate = false;
  return limits;
}

/// Rules that lose nothing must reach every meaning that is reached without them.
void expect_no_meaning_lost(const Problem& problem, Limits limits, size_t at_least) {
  limits.canonical = false;
  const auto all = meanings(problem, limits);
  limits.canonical = true;
  EnumerationCounters counters;
  const auto canonical = meanings(problem, limits, &counters);
  int lost = 0;
  for (const auto& [meaning, text] : all)
    if (canonical.count(meaning) == 0 && ++lost <= 5) ADD_FAILURE() << "lost: " << text;
  EXPECT_EQ(lost, 0) << "of " << all.size();
  EXPECT_EQ(canonical.size(), all.size());
  EXPECT_GE(all.size(), at_least);
  int64_t forbidden = 0;
  for (const int64_t count : counters.by_rule) forbidden += count;
  EXPECT_GT(forbidden, 0);
}

TEST(CanonicalRulesTest, ViewsLoseNoMeaning) {
  Problem problem;
  problem.variables = {{"H", {12}, true}, {"k", {3}, false}, {"s", {2}, false}};
  problem.output = {axis("h", "H", true)};
  problem.input = {axis("h", "H", true)};
  Limits limits = exhaustive(4);
  limits.tensors = 1;
  limits.expands = 1;
  expect_no_meaning_lost(problem, limits, 50);
}

TEST(CanonicalRulesTest, ContractionsLoseNoMeaning) {
  Problem problem;
  problem.variables = {{"C", {8}, false}, {"s", {2}, false}};
  problem.output = {axis("c", "C", false)};
  problem.input = {axis("c", "C", false)};
  Limits limits = exhaustive(4);
  limits.tensors = 3;
  limits.powers = 3;
  limits.strides = 0;
  expect_no_meaning_lost(problem, limits, 50);
}

TEST(CanonicalRulesTest, ConvolutionsLoseNoMeaning) {
  Problem problem;
  problem.variables = {
      {"C_in", {4}, false}, {"C_out", {4}, false}, {"H", {6}, true}, {"k", {3}, false}};
  problem.output = {axis("o", "C_out", false), axis("h", "H", true)};
  problem.input = {axis("c", "C_in", false), axis("h", "H", true)};
  Limits limits = exhaustive(4);
  limits.powers = 3;
  limits.size_variables = 1;
  expect_no_meaning_lost(problem, limits, 10);
}

/// Formulas of all operators of a space with their multiply-accumulates.
std::map<uint64_t, double> formulas(const Problem& problem, const Limits& limits, int64_t* states) {
  std::map<uint64_t, double> found;
  Space space(problem, limits);
  Enumerator enumerator(space);
  StateGraph graph(enumerator);
  std::set<StateNode*> seen;
  std::vector<StateNode*> open = {graph.root()};
  while (!open.empty()) {
    StateNode* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    for (const auto& [match, cost] : endings(space, node->state))
      found.emplace(formula_hash(node->state, match), cost.macs);
    for (int kind = 0; kind < Move::kinds; ++kind)
      for (StateNode::Child* child : graph.children(node, static_cast<Move::Kind>(kind)))
        open.push_back(graph.follow(node, *child));
  }
  *states = static_cast<int64_t>(graph.size());
  return found;
}

/// What is given up early (by shape distance, by place in the input, by cost) leads nowhere.
TEST(PruningTest, LosesNoOperator) {
  Problem problem;
  problem.variables = {{"C_in", {8}, false},
                       {"C_out", {8}, false},
                       {"H", {8}, true},
                       {"k", {3}, false},
                       {"s", {2}, false}};
  problem.output = {axis("o", "C_out", false), axis("h", "H", true)};
  problem.input = {axis("c", "C_in", false), axis("h", "H", true)};
  problem.original_macs = 8 * 8 * 8 * 3;
  problem.original_parameters = 8 * 8 * 3;
  Limits limits = exhaustive(5);
  limits.approximate = true;
  limits.powers = 3;
  limits.size_degree = 1;
  limits.splits = 2;
  limits.strides = 0;
  int64_t pruned_states = 0, all_states = 0;
  const std::map<uint64_t, double> pruned = formulas(problem, limits, &pruned_states);
  limits.shape_distance = false;
  std::map<uint64_t, double> all = formulas(problem, limits, &all_states);
  EXPECT_EQ(pruned, all);
  EXPECT_GT(all.size(), 20u);
  EXPECT_LT(5 * pruned_states, all_states);

  limits.shape_distance = true;
  limits.least_macs = 0.3;
  limits.most_macs = 1.2;
  std::erase_if(all, [&](const auto& entry) {
    const double share = entry.second / problem.original_macs;
    return share < limits.least_macs || share > limits.most_macs;
  });
  EXPECT_EQ(formulas(problem, limits, &pruned_states), all);
  EXPECT_GT(all.size(), 5u);
}

}  // namespace
}  // namespace opsmith::synthesis
