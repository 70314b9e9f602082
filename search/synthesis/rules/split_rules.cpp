#include <algorithm>

#include "search/synthesis/rules/rule.h"

namespace opsmith::synthesis {

namespace {

using Kind = Dimension::Kind;

bool is_block(const Dimension* outer, const Dimension* inner) {
  return outer->is(Kind::MergeOuter) && inner->is(Kind::MergeInner) &&
         outer->first == inner->first && outer->block == inner->block;
}

bool outer_is_split(const Proposal& p) { return p.move.first->is(Kind::Split); }

bool undoes_merge(const Proposal& p) { return is_block(p.move.first, p.move.second); }

bool of_reductions(const Proposal& p) {
  return p.move.first->is(Kind::Reduce) && p.move.second->is(Kind::Reduce);
}

bool of_one_weight(const Proposal& p) {
  return p.move.first->is(Kind::Share) && p.move.second->is(Kind::Share) &&
         p.move.first->number == p.move.second->number;
}

bool undoes_merge_through_shares(const Proposal& p) {
  return is_block(beneath_shares(p.move.first), beneath_shares(p.move.second));
}

bool joins_primaries(const Proposal& p) {
  const int joined = p.move.first->extent->primaries + p.move.second->extent->primaries;
  return joined > 1 && std::all_of(p.space.input().begin(), p.space.input().end(),
                                   [&](const SizeInfo* e) { return e->primaries < joined; });
}

/// Of two unordered dimensions: the one without primary variables, else the smaller, is outer.
bool unordered_sizes(const Proposal& p) {
  const Dimension *outer = p.move.first, *inner = p.move.second;
  if (outer->ordered || inner->ordered) return false;
  if (outer->extent->primary != inner->extent->primary) return outer->extent->primary;
  return inner->extent->extent < outer->extent->extent;
}

bool unordered_merge(const Proposal& p) {
  const Dimension *outer = beneath_shares(p.move.first), *inner = beneath_shares(p.move.second);
  return !outer->ordered && (is_block(outer, inner) || is_block(inner, outer));
}

}  // namespace

std::vector<Rule> split_rules() {
  const std::vector<Move::Kind> split = {Move::Kind::Split};
  using Loss = Rule::Loss;
  return {
      {"split-of-split", "splitting the inner two first says the same", split, Loss::Nothing,
       outer_is_split},
      {"split-undoes-merge", "the two parts of a Merge give its source back", split, Loss::Nothing,
       undoes_merge},
      {"split-of-reductions", "one reduction says the same", split, Loss::Nothing, of_reductions},
      {"split-of-one-weight", "splitting before sharing reshapes the weight only", split,
       Loss::Nothing, of_one_weight},
      {"split-undoes-merge-through-share", "repeats the elements of a weight", split, Loss::Quality,
       undoes_merge_through_shares},
      {"split-joins-primaries",
       "holds more primary variables than any input dimension, and a Split is not merged again",
       split, Loss::Approximate, joins_primaries},
      {"split-unordered-sizes", "the order of channels has no meaning", split, Loss::Approximate,
       unordered_sizes},
      {"split-unordered-merge", "reorders channels only", split, Loss::Approximate,
       unordered_merge},
  };
}

}  // namespace opsmith::synthesis
