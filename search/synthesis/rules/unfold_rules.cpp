#include "search/synthesis/rules/rule.h"

namespace opsmith::synthesis {

namespace {

using Kind = Dimension::Kind;

bool above_split(const Proposal& p) { return p.move.first->is(Kind::Split); }
bool above_shift(const Proposal& p) { return p.move.first->is(Kind::Shift); }
bool of_reductions(const Proposal& p) { return p.move.first->reduced && p.move.second->reduced; }

bool windows_ascend(const Proposal& p) {
  const Dimension* below = p.move.first;
  if (!below->is(Kind::Unfold)) return false;
  const Dimension *first = below->second, *second = p.move.second;
  if (first->extent != second->extent) return second->extent->extent < first->extent->extent;
  return second->hash < first->hash;
}

}  // namespace

std::vector<Rule> unfold_rules() {
  const std::vector<Move::Kind> unfold = {Move::Kind::Unfold};
  using Loss = Rule::Loss;
  return {
      {"unfold-above-split", "unfolding the inner one is the same but at the ends of blocks",
       unfold, Loss::Approximate, above_split},
      {"unfold-above-shift", "unfolding before shifting is the same but at the border", unfold,
       Loss::Approximate, above_shift},
      {"unfold-of-reductions", "sums everything, nearly as often as the window is wide", unfold,
       Loss::Approximate, of_reductions},
      {"unfold-windows-ascend", "windows add in any order, but at the border", unfold,
       Loss::Approximate, windows_ascend},
  };
}

}  // namespace opsmith::synthesis
