#include "search/synthesis/enumerator.h"

#include <algorithm>
#include <bit>
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
    : space_(space), shape_distance_(space.sizes(), space.input()), placement_(space) {
  for (size_t i = 0; i < rules().size(); ++i)
    for (const Move::Kind kind : rules()[i].kinds)
      if (rules()[i].loss == Rule::Loss::Nothing ? space.limits().canonical
                                                 : space.limits().approximate)
        rules_of_kind_[static_cast<size_t>(kind)].push_back({&rules()[i], i});
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
  const Elimination means = means_left(state.weight_count, state.count(Move::Kind::Expand));
  return strided + shape_distance_(std::span(extents.data(), count), means, most - strided);
}

Elimination Enumerator::means_left(int weights, int expands) const {
  const bool more_weights = weights + 1 < space_.limits().tensors;
  const bool more_expands = expands < space_.limits().expands;
  if (more_weights) return more_expands ? Elimination::Everything : Elimination::Contraction;
  return more_expands ? Elimination::Any : Elimination::Windows;
}

void Enumerator::Outlook::add(const SizeInfo* extent) {
  key += ShapeDistance::key_part(extent);
  ++count;
}

void Enumerator::Outlook::add(const Dimension* dimension) {
  if (dimension->strided)
    ++strided;
  else
    add(dimension->extent);
}

void Enumerator::Outlook::remove(const Dimension* dimension) {
  if (dimension->strided) {
    --strided;
  } else {
    key -= ShapeDistance::key_part(dimension->extent);
    --count;
  }
}

Enumerator::Outlook Enumerator::look_at(const State& state) {
  Outlook outlook;
  for (const Dimension* dimension : state.data) outlook.add(dimension);
  return outlook;
}

/// The extents after a move, without making it.
Enumerator::Outlook Enumerator::after(const State& state, const Move& move, Outlook outlook) {
  if (move.first != nullptr) outlook.remove(move.first);
  if (move.second != nullptr) outlook.remove(move.second);
  switch (move.kind) {
    case Move::Kind::Split:
      outlook.add(space_.sizes().product(move.first->extent, move.second->extent));
      break;
    case Move::Kind::Merge:
      outlook.add(space_.sizes().quotient(move.first->extent, move.size));
      outlook.add(move.size);
      break;
    case Move::Kind::Shift:
    case Move::Kind::Unfold:
      outlook.add(move.first->extent);
      break;
    case Move::Kind::Stride:
      ++outlook.strided;
      break;
    case Move::Kind::Contract:
      for (int i = 0; i < state.data.size(); ++i)
        if ((move.moved >> i & 1) != 0) outlook.remove(state.data[i]);
      break;
    case Move::Kind::Reduce:
      outlook.add(move.size);
      break;
    case Move::Kind::Expand:
      break;
  }
  return outlook;
}

bool Enumerator::exceeds_depth(const State& state, const Move& move, const Outlook& outlook) {
  const int left = space_.limits().depth - state.depth - 1;
  if (move.kind != Move::Kind::Reduce) {
    // Most shapes have been seen before.
    const Outlook next = after(state, move, outlook);
    const Elimination means =
        means_left(state.weight_count + (move.kind == Move::Kind::Contract ? 1 : 0),
                   state.count(Move::Kind::Expand) + (move.kind == Move::Kind::Expand ? 1 : 0));
    const int distance = shape_distance_.known(next.key, static_cast<size_t>(next.count), means,
                                               left - next.strided);
    if (distance >= 0) return next.strided + distance > left;
  }
  return distance(space_.apply(state, move), left) > left;
}

/// Whether a dimension that the move makes has no place in the input.
bool Enumerator::misplaces(const State& state, const Move& move) {
  const Elimination means = means_left(state.weight_count, state.count(Move::Kind::Expand));
  const int splits = space_.limits().splits - state.count(Move::Kind::Split);
  const int shifts = space_.limits().shifts - state.count(Move::Kind::Shift);
  DimensionStore& store = space_.dimensions();
  SizeTable& sizes = space_.sizes();
  // Most dimensions need not be made to see that they fit.
  switch (move.kind) {
    case Move::Kind::Split:
      return !placement_.fits(sizes.product(move.first->extent, move.second->extent), means,
                              splits - 1) &&
             !placement_.possible(store.split(move.first, move.second), means, splits - 1, shifts);
    case Move::Kind::Merge:
      return (!placement_.fits(sizes.quotient(move.first->extent, move.size), means, splits) &&
              !placement_.possible(store.merge_outer(move.first, move.size), means, splits,
                                   shifts)) ||
             (!placement_.fits(move.size, means, splits) &&
              !placement_.possible(store.merge_inner(move.first, move.size), means, splits,
                                   shifts));
    default:
      return false;
  }
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
  return !too_cheap(next) &&
         !exceeds(parameters(space_, next), limits.most_parameters, problem.original_parameters) &&
         !exceeds(least_macs(space_, next), limits.most_macs, problem.original_macs);
}

bool Enumerator::too_cheap(const State& state) const {
  const double least = space_.limits().least_macs * space_.problem().original_macs;
  return least > 0 && most_macs(space_, state) < least;
}

bool Enumerator::accepts(const State& state, const Move& move, const StateFacts& facts,
                         const Outlook& outlook) {
  const Proposal proposal{space_, state, move, facts};
  for (const ActiveRule& rule : rules_of_kind_[static_cast<size_t>(move.kind)])
    if (rule.rule->forbids(proposal)) {
      ++counters_.by_rule[rule.number];
      return false;
    }
  if (space_.limits().shape_distance &&
      (exceeds_depth(state, move, outlook) || misplaces(state, move))) {
    ++counters_.by_distance;
    return false;
  }
  // Views make no tensor larger and change no cost that is bounded.
  const bool view = move.kind == Move::Kind::Split || move.kind == Move::Kind::Merge ||
                    move.kind == Move::Kind::Shift || move.kind == Move::Kind::Unfold;
  if ((!view || state.depth == 0) && !within_costs(space_.apply(state, move))) {
    ++counters_.by_cost;
    return false;
  }
  ++counters_.offered;
  return true;
}

std::vector<Move> Enumerator::moves(const State& state, Move::Kind kind) {
  // Nothing but a reduction makes an operator cost more.
  if (state.reducing && kind != Move::Kind::Reduce && too_cheap(state)) {
    ++counters_.by_cost;
    return {};
  }
  const StateFacts facts(state, kind);
  uint16_t never_moved = 0;
  if (kind == Move::Kind::Contract)
    for (const ActiveRule& active : rules_of_kind_[static_cast<size_t>(kind)]) {
      if (active.rule->never_moved == nullptr) continue;
      const uint16_t dimensions = active.rule->never_moved(facts);
      counters_.by_rule[active.number] += std::popcount(dimensions);
      never_moved |= dimensions;
    }
  proposed_.clear();
  proposals(space_, state, kind, never_moved, proposed_);
  if (proposed_.empty()) return {};
  if (space_.limits().shape_distance && !state.reducing &&
      !placement_.possible(state,
                           means_left(state.weight_count, state.count(Move::Kind::Expand)))) {
    counters_.by_distance += static_cast<int64_t>(proposed_.size());
    return {};
  }
  const Outlook outlook = look_at(state);
  std::erase_if(proposed_, [&](const Move& move) { return !accepts(state, move, facts, outlook); });
  return proposed_;
}

std::vector<const Rule*> Enumerator::broken_rules(const State& state, const Move& move) const {
  std::vector<const Rule*> broken;
  const StateFacts facts(state, move.kind);
  for (const Rule& rule : rules())
    if (std::find(rule.kinds.begin(), rule.kinds.end(), move.kind) != rule.kinds.end() &&
        rule.forbids({space_, state, move, facts}))
      broken.push_back(&rule);
  return broken;
}

}  // namespace opsmith::synthesis
