#include "search/synthesis/placement.h"

#include <algorithm>
#include <cmath>

namespace opsmith::synthesis {

namespace {

std::vector<Rule> switched_on(const Limits& limits, std::vector<Rule> family) {
  std::erase_if(family, [&](const Rule& rule) {
    return rule.loss == Rule::Loss::Nothing ? !limits.canonical : !limits.approximate;
  });
  return family;
}

}  // namespace

bool is_window(const Limits& limits, const SizeInfo* extent) {
  if (extent->primary || extent->largest > limits.largest_window) return false;
  return !limits.odd_windows || std::all_of(extent->values.begin(), extent->values.end(),
                                            [](double value) { return std::fmod(value, 2) == 1; });
}

Placement::Placement(Space& space)
    : space_(space),
      merge_rules_(switched_on(space.limits(), merge_rules())),
      shift_rules_(switched_on(space.limits(), shift_rules())),
      unfold_rules_(switched_on(space.limits(), unfold_rules())),
      stride_rules_(switched_on(space.limits(), stride_rules())) {
  window_.extent = space.sizes().one();
  window_.hash = ~0ull;
}

bool Placement::forbidden(const std::vector<Rule>& family, const Move& move) {
  const Proposal proposal{space_, nothing_, move, no_facts_};
  return std::any_of(family.begin(), family.end(),
                     [&](const Rule& rule) { return rule.forbids(proposal); });
}

bool Placement::find_rigid(const Dimension* d, bool may_shift) {
  for (const SizeInfo* block : space_.blocks(d->extent))
    if (!forbidden(merge_rules_, {.kind = Move::Kind::Merge, .first = d, .size = block}))
      return false;
  if (may_shift && !forbidden(shift_rules_, {.kind = Move::Kind::Shift, .first = d})) return false;
  if (space_.limits().strides > 0 &&
      !forbidden(stride_rules_,
                 {.kind = Move::Kind::Stride, .first = d, .size = space_.sizes().one()}))
    return false;
  return space_.limits().unfolds == 0 ||
         forbidden(unfold_rules_, {.kind = Move::Kind::Unfold, .first = d, .second = &window_});
}

bool Placement::is_rigid(const Dimension* d, bool may_shift) {
  std::vector<int8_t>& known = rigid_[may_shift ? 1 : 0];
  const auto id = static_cast<size_t>(d->id);
  if (id >= known.size()) known.resize(std::max(2 * known.size(), id + 1), -1);
  if (known[id] < 0) known[id] = find_rigid(d, may_shift) ? 1 : 0;
  return known[id] == 1;
}

bool Placement::fits(const SizeInfo* extent, Elimination means, int splits) {
  switch (means) {
    case Elimination::Any:
    case Elimination::Everything:
      return true;
    case Elimination::Contraction:
      if (!extent->open) return true;
      break;
    case Elimination::Windows:
      if (is_window(space_.limits(), extent)) return true;
      break;
  }
  return std::any_of(space_.input().begin(), space_.input().end(), [&](const SizeInfo* wanted) {
    return wanted == extent || (splits > 0 && space_.sizes().quotient(wanted, extent)->whole);
  });
}

bool Placement::possible(const Dimension* d, Elimination means, int splits, int shifts) {
  return fits(d->extent, means, splits) || d->strided || !is_rigid(d, shifts > 0);
}

bool Placement::possible(const State& state, Elimination means) {
  const Limits& limits = space_.limits();
  const int splits = limits.splits - state.count(Move::Kind::Split);
  const int shifts = limits.shifts - state.count(Move::Kind::Shift);
  return std::all_of(state.data.begin(), state.data.end(),
                     [&](const Dimension* d) { return possible(d, means, splits, shifts); });
}

}  // namespace opsmith::synthesis
