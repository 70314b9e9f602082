#include <bit>

#include "search/synthesis/rules/rule.h"

namespace opsmith::synthesis {

namespace {

/// The dimensions that the weight reads.
unsigned taken(const Proposal& p) { return p.move.shared | p.move.moved; }

/// A reduction that only the weight reads sums that weight to a smaller one.
bool moves_reduction(const Proposal& p) { return (p.move.moved & p.facts.reduces) != 0; }

/// Both parts of a Merge in the weight alone are its source in the weight.
bool moves_both_parts(const Proposal& p) {
  for (unsigned left = p.move.moved; left != 0; left &= left - 1)
    if ((p.move.moved & p.facts.other_part[static_cast<size_t>(std::countr_zero(left))]) != 0)
      return true;
  return false;
}

/// Two weights of which the second reads nothing of the first come in the order of their
/// dimensions.
bool independent_out_of_order(const Proposal& p) {
  if (p.state.weight_count == 0 || (taken(p) & p.facts.after_last) != 0) return false;
  uint64_t next_hash = 0;
  for (unsigned left = taken(p); left != 0; left &= left - 1)
    next_hash += p.state.data[std::countr_zero(left)]->hash;
  return next_hash < p.facts.last_weight_hash;
}

/// One weight reads nothing that another does not read: their product is one weight.
bool absorbed(const Proposal& p) {
  const int size = std::popcount(taken(p));
  for (int w = 0; w < p.state.weight_count; ++w) {
    const int common = std::popcount(taken(p) & p.facts.in_weight[static_cast<size_t>(w)]);
    if (common == size || common == p.state.weights[static_cast<size_t>(w)].size()) return true;
  }
  return false;
}

bool one_dimension(const Proposal& p) { return std::popcount(taken(p)) < 2; }

bool nothing_shared(const Proposal& p) { return p.move.shared == 0; }

}  // namespace

std::vector<Rule> contraction_rules() {
  const std::vector<Move::Kind> contract = {Move::Kind::Contract};
  using Loss = Rule::Loss;
  return {
      {"contraction-moves-reduction", "the weight could be summed ahead of time", contract,
       Loss::Nothing, moves_reduction, [](const StateFacts& facts) { return facts.reduces; }},
      {"contraction-moves-both-parts", "moving the source of the Merge says the same", contract,
       Loss::Nothing, moves_both_parts},
      {"contraction-absorbed", "the product of the two weights is one weight", contract,
       Loss::Nothing, absorbed},
      {"contraction-order", "independent contractions commute", contract, Loss::Nothing,
       independent_out_of_order},
      {"contraction-of-one-dimension", "a weight of one dimension only scales", contract,
       Loss::Quality, one_dimension},
      {"contraction-shares-nothing", "the weight would not meet the data", contract, Loss::Quality,
       nothing_shared},
  };
}

}  // namespace opsmith::synthesis
