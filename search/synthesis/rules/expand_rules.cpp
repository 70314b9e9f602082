#include "search/synthesis/rules/rule.h"

namespace opsmith::synthesis {

namespace {

using Kind = Dimension::Kind;

bool of_reduce(const Proposal& p) { return p.move.first->is(Kind::Reduce); }

bool of_both_parts(const Proposal& p) {
  const Dimension* source = p.move.first;
  if (!source->is(Kind::MergeOuter) && !source->is(Kind::MergeInner)) return false;
  for (const Dimension* other : p.state.expanded)
    if (other->first == source->first && other->block == source->block &&
        (other->is(Kind::MergeOuter) || other->is(Kind::MergeInner)))
      return true;
  return false;
}

bool of_other_than_merge(const Proposal& p) { return !p.move.first->is(Kind::MergeInner); }

}  // namespace

std::vector<Rule> expand_rules() {
  const std::vector<Move::Kind> expand = {Move::Kind::Expand};
  using Loss = Rule::Loss;
  return {
      {"expand-of-reduce", "multiplies the result by a constant", expand, Loss::Nothing, of_reduce},
      {"expand-of-both-parts", "expanding the source of the Merge says the same", expand,
       Loss::Nothing, of_both_parts},
      {"expand-above-merge-inner-only", "repeats whole tensors instead of neighbours", expand,
       Loss::Quality, of_other_than_merge},
  };
}

}  // namespace opsmith::synthesis
