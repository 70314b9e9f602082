#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_set>

#include "search/synthesis/canonical_rate.h"
#include "tests/search/synthesis/known_operators.h"

namespace opsmith::synthesis {
namespace {

Problem resnet18(int64_t groups) {
  return problem_for(resnet18_layers(), {{"k", 3}, {"s", 2}, {"g", groups}});
}

/// Walks through everything that the enumerator offers, restricted to a multiset of primitives: so
/// many of each kind, reductions of these extents. Searches depth first for an operator.
class RestrictedSearch {
 public:
  RestrictedSearch(Space& space, const std::vector<Move>& moves)
      : space_(space), enumerator_(space) {
    for (const Move& move : moves) {
      ++counts_[static_cast<size_t>(move.kind)];
      if (move.kind == Move::Kind::Reduce) reductions_.push_back(move.size);
      if (move.kind == Move::Kind::Merge) blocks_.push_back(move.size);
    }
  }

  bool finds(uint64_t hash) {
    wanted_ = hash;
    return visit(space_.root());
  }
  size_t states() const { return seen_.size(); }

 private:
  bool visit(const State& state) {
    if (!seen_.insert(state.hash()).second) return false;
    bool complete = true;
    for (int kind = 0; kind < Move::kinds; ++kind) {
      const auto k = static_cast<Move::Kind>(kind);
      if (state.count(k) == counts_[static_cast<size_t>(kind)]) continue;
      complete = false;
      for (const Move& move : enumerator_.moves(state, k)) {
        if (k == Move::Kind::Reduce &&
            move.size != reductions_[static_cast<size_t>(state.count(Move::Kind::Reduce))])
          continue;
        if (k == Move::Kind::Merge &&
            std::find(blocks_.begin(), blocks_.end(), move.size) == blocks_.end())
          continue;
        if (visit(space_.apply(state, move))) return true;
      }
      if (k == Move::Kind::Reduce) return false;  // all reductions come first
    }
    if (!complete) return false;
    for (const auto& match : matches(space_, state))
      if (formula_hash(state, match) == wanted_) return true;
    return false;
  }

  Space& space_;
  Enumerator enumerator_;
  std::array<int, Move::kinds> counts_{};
  std::vector<const SizeInfo*> reductions_, blocks_;
  std::unordered_set<uint64_t> seen_;
  uint64_t wanted_ = 0;
};

void expect_found(FoundOperator (*script)(testing::Script&), int64_t groups) {
  Limits limits = Limits::resnet18();
  Space space(resnet18(groups), limits);
  testing::Script steps(space);
  const FoundOperator known = script(steps);
  // No more than the operator has: the shape distance then knows how little is left.
  limits.depth = steps.state.depth;
  limits.most_macs = 1;  // of a convolution, its own
  limits.tensors = 1 + steps.state.weight_count;
  limits.reductions = steps.state.count(Move::Kind::Reduce);
  limits.splits = steps.state.count(Move::Kind::Split);
  limits.merges = steps.state.count(Move::Kind::Merge);
  limits.shifts = steps.state.count(Move::Kind::Shift);
  limits.unfolds = steps.state.count(Move::Kind::Unfold);
  Space restricted(resnet18(groups), limits);
  std::vector<Move> moves = steps.moves;
  for (Move& move : moves)
    if (move.size != nullptr) move.size = restricted.sizes().find(move.size->extent);
  RestrictedSearch search(restricted, moves);
  EXPECT_TRUE(search.finds(known.hash));
  EXPECT_GT(search.states(), static_cast<size_t>(limits.depth));
}

TEST(RestrictedEnumeration, FindsConvolution) { expect_found(testing::convolution, 32); }
TEST(RestrictedEnumeration, FindsGroupedConvolution) {
  expect_found(testing::grouped_convolution, 4);
}
TEST(RestrictedEnumeration, FindsOperator1) { expect_found(testing::syno_operator_1, 32); }
TEST(RestrictedEnumeration, FindsOperator2) { expect_found(testing::syno_operator_2, 32); }

/// Syno, table 2: the longer, the fewer are canonical.
TEST(CanonicalRate, FallsWithTheNumberOfPrimitives) {
  Limits limits = Limits::resnet18();
  limits.least_macs = 0;
  limits.tensors = 2;
  SamplingOptions options;
  options.trials = 3000;
  const std::map<int, CanonicalRate> rates = canonical_rates(resnet18(32), limits, options);
  CanonicalRate few, many;
  for (const auto& [primitives, rate] : rates) {
    CanonicalRate& sum = primitives <= 4 ? few : many;
    sum.operators += rate.operators;
    sum.canonical += rate.canonical;
  }
  ASSERT_GT(few.operators, 10);
  ASSERT_GT(many.operators, 100);
  EXPECT_GT(few.share(), 2 * many.share());
}

}  // namespace
}  // namespace opsmith::synthesis
