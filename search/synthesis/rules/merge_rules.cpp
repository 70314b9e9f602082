#include "search/synthesis/rules/rule.h"

namespace opsmith::synthesis {

namespace {

using Kind = Dimension::Kind;

bool divides(const Proposal& p, const SizeInfo* divisor, const SizeInfo* dividend) {
  return p.space.sizes().quotient(dividend, divisor)->whole;
}

bool above_share(const Proposal& p) { return p.move.first->is(Kind::Share); }

bool above_reduce(const Proposal& p) { return p.move.first->is(Kind::Reduce); }

/// (B*i + j) / X and mod X, where X divides B or B divides X: merge i or j, then split.
bool above_aligned_split(const Proposal& p) {
  if (!p.move.first->is(Kind::Split)) return false;
  const SizeInfo* inner = p.move.first->second->extent;
  return divides(p, inner, p.move.size) || divides(p, p.move.size, inner);
}

bool above_split(const Proposal& p) { return p.move.first->is(Kind::Split); }

/// (i / A) / B, (i / A) mod B, i mod A = i / AB, (i mod AB) / A, i mod A.
bool above_merge_outer(const Proposal& p) { return p.move.first->is(Kind::MergeOuter); }

bool above_shift(const Proposal& p) {
  return p.move.first->is(Kind::Shift) && p.move.size->smallest > p.space.limits().shift_block;
}

/// S*i / B, S*i mod B with S dividing B: i / (B/S), S * (i mod (B/S)).
bool above_aligned_stride(const Proposal& p) {
  return p.move.first->is(Kind::Stride) && divides(p, p.move.first->block, p.move.size);
}

bool above_stride(const Proposal& p) {
  return p.move.first->is(Kind::Stride) && p.move.size->smallest >= p.move.first->block->smallest;
}

bool above_unfold(const Proposal& p) {
  return p.move.first->is(Kind::Unfold) &&
         p.move.size->smallest >= p.move.first->second->extent->smallest;
}

bool block_divides_window(const Proposal& p) {
  return p.move.first->is(Kind::Unfold) && divides(p, p.move.size, p.move.first->second->extent);
}

/// Of an unordered dimension the two parts are alike: the larger one is the block.
bool unordered_block(const Proposal& p) {
  if (p.move.first->ordered) return false;
  const SizeInfo* outer = p.space.sizes().quotient(p.move.first->extent, p.move.size);
  return outer->primary != p.move.size->primary ? outer->primary
                                                : p.move.size->extent < outer->extent;
}

/// And of a chain of such Merges the blocks descend.
bool unordered_chain(const Proposal& p) {
  const Dimension* below = p.move.first;
  if (below->ordered || !below->is(Kind::MergeInner)) return false;
  const SizeInfo* outer = p.space.sizes().quotient(below->extent, p.move.size);
  return outer->extent < p.space.sizes().quotient(below->first->extent, below->block)->extent;
}

}  // namespace

std::vector<Rule> merge_rules() {
  const std::vector<Move::Kind> merge = {Move::Kind::Merge};
  using Loss = Rule::Loss;
  return {
      {"merge-above-share", "merging before sharing reshapes the weight only", merge, Loss::Nothing,
       above_share},
      {"merge-above-reduce", "two reductions say the same", merge, Loss::Nothing, above_reduce},
      {"merge-above-aligned-split", "merging one of the two and splitting says the same", merge,
       Loss::Nothing, above_aligned_split},
      {"merge-above-split", "removes a level of parentheses at almost every point", merge,
       Loss::Approximate, above_split},
      {"merge-above-merge-outer", "merging the inner one of a larger block says the same", merge,
       Loss::Nothing, above_merge_outer},
      {"merge-above-shift", "shifting the inner one is the same but where a large block ends",
       merge, Loss::Approximate, above_shift},
      {"merge-above-aligned-stride", "merging and striding the inner one says the same", merge,
       Loss::Nothing, above_aligned_stride},
      {"merge-above-stride", "striding the inner one is the same but where a large block ends",
       merge, Loss::Approximate, above_stride},
      {"merge-above-unfold", "unfolding the inner one is the same but where a large block ends",
       merge, Loss::Approximate, above_unfold},
      {"merge-inside-window", "a block that divides the window merges the window instead", merge,
       Loss::Approximate, block_divides_window},
      {"merge-unordered-block", "the parts of an unordered dimension are alike", merge,
       Loss::Approximate, unordered_block},
      {"merge-unordered-chain", "the parts of an unordered dimension are alike", merge,
       Loss::Approximate, unordered_chain},
  };
}

}  // namespace opsmith::synthesis
