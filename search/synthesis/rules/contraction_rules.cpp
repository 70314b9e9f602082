#include <algorithm>
#include <bit>

#include "search/synthesis/rules/rule.h"

namespace opsmith::synthesis {

namespace {

using Kind = Dimension::Kind;

bool moved(const Proposal& p, int i) { return (p.move.moved >> i & 1) != 0; }

/// A reduction that only the weight reads sums that weight to a smaller one.
bool moves_reduction(const Proposal& p) {
  for (int i = 0; i < p.state.data.size(); ++i)
    if (moved(p, i) && p.state.data[i]->is(Kind::Reduce)) return true;
  return false;
}

/// Both parts of a Merge in the weight alone are its source in the weight.
bool moves_both_parts(const Proposal& p) {
  for (int i = 0; i < p.state.data.size(); ++i)
    for (int j = 0; j < p.state.data.size(); ++j) {
      const Dimension *a = p.state.data[i], *b = p.state.data[j];
      if (moved(p, i) && moved(p, j) && a->is(Kind::MergeOuter) && b->is(Kind::MergeInner) &&
          a->first == b->first && a->block == b->block)
        return true;
    }
  return false;
}

/// Two weights of which the second reads nothing of the first come in the order of their
/// dimensions.
bool independent_out_of_order(const Proposal& p) {
  const int last = p.state.weight_count - 1;
  if (last < 0) return false;
  uint64_t next_hash = 0, last_hash = 0;
  for (int i = 0; i < p.state.data.size(); ++i) {
    if (((p.move.shared | p.move.moved) >> i & 1) == 0) continue;
    if (p.state.data[i]->weight >= last) return false;
    next_hash += p.state.data[i]->hash;
  }
  for (const Dimension* dimension : p.state.weights[static_cast<size_t>(last)])
    last_hash += dimension->hash;
  return next_hash < last_hash;
}

/// One weight reads nothing that another does not read: their product is one weight.
bool absorbed(const Proposal& p) {
  std::vector<const Dimension*> next;
  for (int i = 0; i < p.state.data.size(); ++i)
    if (((p.move.shared | p.move.moved) >> i & 1) != 0)
      next.push_back(beneath_shares(p.state.data[i]));
  for (int w = 0; w < p.state.weight_count; ++w) {
    const DimensionSet& weight = p.state.weights[static_cast<size_t>(w)];
    size_t common = 0;
    for (const Dimension* d : weight)
      common += std::find(next.begin(), next.end(), beneath_shares(d)) != next.end() ? 1 : 0;
    if (common == next.size() || common == static_cast<size_t>(weight.size())) return true;
  }
  return false;
}

bool one_dimension(const Proposal& p) {
  return std::popcount(static_cast<unsigned>(p.move.shared | p.move.moved)) < 2;
}

bool nothing_shared(const Proposal& p) { return p.move.shared == 0; }

}  // namespace

std::vector<Rule> contraction_rules() {
  const std::vector<Move::Kind> contract = {Move::Kind::Contract};
  using Loss = Rule::Loss;
  return {
      {"contraction-moves-reduction", "the weight could be summed ahead of time", contract,
       Loss::Nothing, moves_reduction},
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
