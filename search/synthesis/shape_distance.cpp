#include "search/synthesis/shape_distance.h"

#include <algorithm>
#include <array>

#include "search/synthesis/mix.h"

namespace opsmith::synthesis {

ShapeDistance::ShapeDistance(SizeTable& sizes, std::vector<const SizeInfo*> desired)
    : sizes_(sizes), desired_(std::move(desired)) {
  groupings_.emplace_back();
  for (const SizeInfo* info : desired_) {
    std::vector<std::vector<Group>> extended;
    for (const std::vector<Group>& grouping : groupings_) {
      for (size_t j = 0; j < grouping.size(); ++j) {
        extended.push_back(grouping);
        Group& group = extended.back()[j];
        group.product = group.product * info->extent;
        ++group.desired;
      }
      extended.push_back(grouping);
      extended.back().push_back({info->extent, 1});
    }
    groupings_ = std::move(extended);
  }
  // Many small groups first: they tend to be near.
  std::reverse(groupings_.begin(), groupings_.end());
}

int ShapeDistance::operator()(std::span<const SizeInfo* const> current, Elimination elimination,
                              int most) {
  uint64_t parts = 0;
  for (const SizeInfo* info : current) parts += key_part(info);
  if (const int distance = known(parts, current.size(), elimination, most); distance >= 0)
    return distance;
  const int bound = std::min(most + 1, unreachable);
  Known computed;
  computed.distance =
      static_cast<int8_t>(compute({current.begin(), current.end()}, elimination, bound));
  computed.exact = computed.distance < bound || bound == unreachable;
  const uint64_t key = table_key(parts, current.size(), elimination);
  Known* before = known_.find(key, [](const Known&) { return true; });
  if (before == nullptr)
    known_.insert(key, computed);
  else
    *before = computed;
  return computed.distance;
}

int ShapeDistance::known(uint64_t key, size_t count, Elimination elimination, int most) {
  const Known* known =
      known_.find(table_key(key, count, elimination), [](const Known&) { return true; });
  return known != nullptr && (known->exact || known->distance > most) ? known->distance : -1;
}

/// Puts the current dimensions, one after the other, into a group of the desired ones or aside,
/// to be eliminated.
struct ShapeDistance::Search {
  const std::vector<const SizeInfo*>& current;
  Elimination elimination;
  SizeTable& sizes;
  int best = unreachable;  ///< nothing as long as this is of interest
  /// Flags of the variables that the dimensions from some number on have.
  std::array<std::vector<uint64_t>, 2> ahead{};

  struct State {
    Extent remainder;  ///< of the current dimensions in the group over the desired ones
    int members = 0;
  };
  std::vector<State> groups{};

  bool may_go(const SizeInfo* info) const {
    if (elimination == Elimination::Windows) return !info->primary;
    return elimination != Elimination::Contraction || !info->open;
  }

  /// `reshapes` so far (a dimension that joins a group takes one more), `aside` eliminated alone,
  /// `previous`: the group of the dimension before, which an equal one need not go above (aside
  /// being above all).
  void place(size_t i, int reshapes, int aside, size_t previous) {
    if (reshapes + floor_of_rest(aside) >= best) return;
    for (const State& group : groups)
      if (lacks_primary(group, i)) return;
    if (i == current.size()) return finish(reshapes, aside);
    const bool repeated = i > 0 && current[i] == current[i - 1];
    if (may_go(current[i]) && (!repeated || previous == groups.size()))
      place(i + 1, reshapes, aside + 1, groups.size());
    for (size_t j = repeated ? std::min(previous + 1, groups.size()) : groups.size(); j-- > 0;) {
      State& group = groups[j];
      const State before = group;
      if (before.members > 0 && before.remainder.is_one()) continue;  // joining would not help
      group.remainder = group.remainder * current[i]->extent;
      ++group.members;
      if (!current[i]->primary || !spares_what_must_stay(group))
        place(i + 1, reshapes + 1, aside, j);
      group = before;
    }
  }

  /// What is still to come at least: a member for each empty group, a Merge for each group that
  /// has a primary variable to spare, and the eliminations.
  int floor_of_rest(int aside) const {
    int empty = 0, partial = 0;
    for (const State& group : groups) {
      empty += group.members == 0 ? 1 : 0;
      partial += group.members > 0 && spares_primary(group) ? 1 : 0;
    }
    return empty + partial + steps(aside + partial);
  }

  int steps(int eliminated) const {
    const bool together =
        elimination == Elimination::Contraction || elimination == Elimination::Everything;
    return together ? std::min(eliminated, 1) : eliminated;
  }

  bool spares_primary(const State& group) const {
    return ((group.remainder.positive(0) & sizes.primaries(0)) |
            (group.remainder.positive(1) & sizes.primaries(1))) != 0;
  }

  bool spares_what_must_stay(const State& group) const {
    if (elimination == Elimination::Windows) return spares_primary(group);
    return elimination == Elimination::Contraction &&
           ((group.remainder.positive(0) & sizes.opens(0)) |
            (group.remainder.positive(1) & sizes.opens(1))) != 0;
  }

  /// Whether a group lacks a primary variable that no dimension from number `i` on has.
  bool lacks_primary(const State& group, size_t i) const {
    for (size_t word = 0; word < 2; ++word)
      if ((group.remainder.negative(word) & sizes.primaries(word) & ~ahead[word][i]) != 0)
        return true;
    return false;
  }

  void finish(int reshapes, int aside) {
    int partial = 0;  // groups with a remainder, which one more Merge sets apart
    for (const State& group : groups) {
      if (group.members == 0) return;
      if (group.remainder.is_one()) continue;
      const SizeInfo* remainder = sizes.find(group.remainder);
      if (!remainder->whole || !may_go(remainder)) return;
      ++partial;
    }
    best = std::min(best, reshapes + partial + steps(aside + partial));
  }
};

int ShapeDistance::compute(std::vector<const SizeInfo*> current, Elimination elimination,
                           int bound) {
  // Dimensions with primary variables first: what they leave open the others have to fill.
  std::sort(current.begin(), current.end(), [](const SizeInfo* a, const SizeInfo* b) {
    return a->primary != b->primary ? a->primary : a->extent < b->extent;
  });
  Search search{current, elimination, sizes_, bound};
  for (size_t word = 0; word < 2; ++word) {
    search.ahead[word].assign(current.size() + 1, 0);
    for (size_t i = current.size(); i-- > 0;)
      search.ahead[word][i] = search.ahead[word][i + 1] | current[i]->extent.positive(word);
  }
  for (const std::vector<Group>& grouping : groupings_) {
    search.groups.clear();
    int reshapes = 0;
    for (const Group& group : grouping) {
      search.groups.push_back({Extent{} / group.product, 0});
      reshapes += group.desired - 2;  // and one for each dimension that joins
    }
    search.place(0, reshapes, 0, 0);
  }
  return search.best;
}

}  // namespace opsmith::synthesis
