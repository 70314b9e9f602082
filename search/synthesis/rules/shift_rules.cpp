#include "search/synthesis/rules/rule.h"

namespace opsmith::synthesis {

namespace {

using Kind = Dimension::Kind;

bool above_reduce(const Proposal& p) { return p.move.first->is(Kind::Reduce); }
bool above_share(const Proposal& p) { return p.move.first->is(Kind::Share); }
bool above_shift(const Proposal& p) { return p.move.first->is(Kind::Shift); }
bool of_unordered(const Proposal& p) { return !p.move.first->ordered; }

bool above_split(const Proposal& p) {
  return p.move.first->is(Kind::Split) &&
         p.move.first->second->extent->smallest > p.space.limits().shift_block;
}

}  // namespace

std::vector<Rule> shift_rules() {
  const std::vector<Move::Kind> shift = {Move::Kind::Shift};
  using Loss = Rule::Loss;
  return {
      {"shift-above-reduce", "a sum over all has no beginning", shift, Loss::Nothing, above_reduce},
      {"shift-above-share", "shifting before sharing reorders the weight only", shift,
       Loss::Nothing, above_share},
      {"shift-above-shift", "shifts by one are kept single", shift, Loss::Quality, above_shift},
      {"shift-of-unordered", "the order of channels has no meaning", shift, Loss::Approximate,
       of_unordered},
      {"shift-above-split", "shifting the inner one is the same but where a large block ends",
       shift, Loss::Approximate, above_split},
  };
}

}  // namespace opsmith::synthesis
