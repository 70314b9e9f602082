#include "search/synthesis/enumerator.h"

#include <algorithm>
#include <cmath>

#include "search/synthesis/cost.h"

namespace opsmith::synthesis {

EnumerationCounters& EnumerationCounters::operator+=(const EnumerationCounters& other) {
  for (size_t i = 0; i < by_rule.size(); ++i) by_rule[i] += other.by_rule[i];
  by_distance += other.by_distance;
  by_cost += other.by_cost;
  offered += other.offered;
  return *this;
}

Enumerator::Enumerator(Space& space)
    : space_(space), shape_distance_(space.sizes(), space.input()) {
  for (size_t i = 0; i < rules().size(); ++i)
    for (const Move::Kind kind : rules()[i].kinds)
      if (rules()[i].loss == Rule::Loss::Nothing ? space.limits().canonical
                                                 : space.limits().approximate)
        rules_of_kind_[static_cast<size_t>(kind)].push_back(i);
}

bool Enumerator::matches_input(const State& state) const {
  if (static_cast<size_t>(state.data.size()) != space_.input().size()) return false;
  std::vector<const SizeInfo*> wanted = space_.input();
  for (const Dimension* dimension : state.data) {
    const auto found = std::find(wanted.begin(), wanted.end(), dimension->extent);
    if (found == wanted.end() || dimension->strided) return false;
    wanted.erase(found);
  }
  return true;
}

/// While reductions may still come, each can bring one primary variable that the input has and no
/// dimension has yet; they come in the order of the extents.
int Enumerator::missing_variables(const State& state) const {
  Extent present;
  const SizeInfo* last = nullptr;
  for (const Dimension* dimension : state.data) {
    present = present * dimension->extent->extent;
    if (dimension->is(Dimension::Kind::Reduce) &&
        dimension->number + 1 == state.count(Move::Kind::Reduce))
      last = dimension->extent;
  }
  const auto& extents = space_.extents();
  const auto next =
      last == nullptr ? extents.begin() : std::find(extents.begin(), extents.end(), last);
  int missing = 0;
  for (size_t v = 0; v < space_.problem().variables.size(); ++v) {
    if (!space_.sizes().is_primary(v)) continue;
    int wanted = -present.power(v);
    for (const SizeInfo* extent : space_.input()) wanted += extent->extent.power(v);
    if (wanted < 0 && space_.problem().variables[v].open && space_.limits().expands == 0)
      return ShapeDistance::unreachable;  // nothing takes it away again
    if (wanted <= 0) continue;
    missing += wanted;
    if (std::none_of(next, extents.end(),
                     [v](const SizeInfo* extent) { return extent->extent.power(v) > 0; }))
      return ShapeDistance::unreachable;
  }
  const int left = space_.limits().reductions - state.count(Move::Kind::Reduce);
  return missing <= left ? missing : ShapeDistance::unreachable;
}

int Enumerator::distance(const State& state, int most) {
  if (state.reducing && state.count(Move::Kind::Reduce) < space_.limits().reductions)
    return missing_variables(state);
  std::array<const SizeInfo*, DimensionSet::capacity> extents;
  size_t count = 0;
  int strided = 0;
  for (const Dimension* dimension : state.data) {
    if (dimension->strided)
      ++strided;  // an Unfold has to consume it
    else
      extents[count++] = dimension->extent;
  }
  const bool weights = state.weight_count + 1 < space_.limits().tensors;
  const bool expands = state.count(Move::Kind::Expand) < space_.limits().expands;
  const Elimination means = weights && expands ? Elimination::Everything
                            : weights          ? Elimination::Contraction
                            : expands          ? Elimination::Any
                                               : Elimination::Windows;
  return strided + shape_distance_(std::span(extents.data(), count), means, most - strided);
}

bool Enumerator::exceeds_depth(const State& next) {
  const int left = space_.limits().depth - next.depth;
  return distance(next, left) > left;
}

/// Bounds that growing further cannot lower again.
bool Enumerator::within_costs(const State& next) const {
  Extent elements;
  for (const Dimension* dimension : next.data) elements = elements * dimension->extent->extent;
  if (space_.bytes(space_.sizes().find(elements)) > space_.limits().memory) return false;
  const Limits& limits = space_.limits();
  if (next.weight_count == 0) return true;
  const auto exceeds = [](double value, double share, double original) {
    return std::isfinite(share) && value > share * original;
  };
  const Problem& problem = space_.problem();
  return !exceeds(parameters(space_, next), limits.most_parameters, problem.original_parameters) &&
         !exceeds(least_macs(space_, next), limits.most_macs, problem.original_macs);
}

bool Enumerator::accepts(const State& state, const Move& move) {
  const Proposal proposal{space_, state, move};
  for (const size_t rule : rules_of_kind_[static_cast<size_t>(move.kind)])
    if (rules()[rule].forbids(proposal)) {
      ++counters_.by_rule[rule];
      return false;
    }
  const State next = space_.apply(state, move);
  if (space_.limits().shape_distance && exceeds_depth(next)) {
    ++counters_.by_distance;
    return false;
  }
  if (!within_costs(next)) {
    ++counters_.by_cost;
    return false;
  }
  ++counters_.offered;
  return true;
}

std::vector<Move> Enumerator::moves(const State& state, Move::Kind kind) {
  std::vector<Move> offered = proposals(space_, state, kind);
  std::erase_if(offered, [&](const Move& move) { return !accepts(state, move); });
  return offered;
}

std::vector<const Rule*> Enumerator::broken_rules(const State& state, const Move& move) const {
  std::vector<const Rule*> broken;
  for (const Rule& rule : rules())
    if (std::find(rule.kinds.begin(), rule.kinds.end(), move.kind) != rule.kinds.end() &&
        rule.forbids({space_, state, move}))
      broken.push_back(&rule);
  return broken;
}

}  // namespace opsmith::synthesis
