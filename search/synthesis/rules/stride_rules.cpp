#include "search/synthesis/rules/rule.h"

namespace opsmith::synthesis {

namespace {

using Kind = Dimension::Kind;

/// S * (B*i + j) = (S*B) * i + S*j.
bool above_split(const Proposal& p) { return p.move.first->is(Kind::Split); }
bool above_stride(const Proposal& p) { return p.move.first->is(Kind::Stride); }
bool above_unfold(const Proposal& p) { return p.move.first->is(Kind::Unfold); }

}  // namespace

std::vector<Rule> stride_rules() {
  const std::vector<Move::Kind> stride = {Move::Kind::Stride};
  using Loss = Rule::Loss;
  return {
      {"stride-above-split", "striding the inner one says the same", stride, Loss::Nothing,
       above_split},
      {"stride-above-stride", "strides are kept single", stride, Loss::Quality, above_stride},
      {"stride-above-unfold", "skips what the window covers", stride, Loss::Quality, above_unfold},
  };
}

}  // namespace opsmith::synthesis
