#pragma once

#include <vector>

#include "search/synthesis/placement.h"
#include "search/synthesis/rules/rule.h"
#include "search/synthesis/shape_distance.h"

namespace opsmith::synthesis {

/// Why moves were not offered.
struct EnumerationCounters {
  std::vector<int64_t> by_rule;  ///< in the order of `rules()`
  int64_t by_distance = 0;
  int64_t by_cost = 0;
  int64_t offered = 0;

  EnumerationCounters() : by_rule(rules().size(), 0) {}
  EnumerationCounters& operator+=(const EnumerationCounters& other);
};

/// Offers the moves from a state: those that fit the limits, that no rule forbids and from whose
/// result the input can still be reached. One for each thread.
class Enumerator {
 public:
  explicit Enumerator(Space& space);

  std::vector<Move> moves(const State& state, Move::Kind kind);

  /// Whether the data dimensions are the input's in some order, with nothing left undone.
  bool matches_input(const State& state) const;

  /// Primitives that are at least still to come; where they are more than `most`, something more
  /// than `most`. ShapeDistance::unreachable when none help.
  int distance(const State& state, int most = ShapeDistance::unreachable);

  /// The rules that forbid a move, whether they are switched on or not. For canonical rates.
  std::vector<const Rule*> broken_rules(const State& state, const Move& move) const;

  const EnumerationCounters& counters() const { return counters_; }
  Space& space() { return space_; }

 private:
  /// A multiset of data extents as the shape distance sees it: its key, and the dimensions with a
  /// Stride apart.
  struct Outlook {
    uint64_t key = 0;
    int count = 0;
    int strided = 0;
    void add(const SizeInfo* extent);
    void add(const Dimension* dimension);
    void remove(const Dimension* dimension);
  };

  bool accepts(const State& state, const Move& move, const StateFacts& facts,
               const Outlook& outlook);
  bool exceeds_depth(const State& state, const Move& move, const Outlook& outlook);
  bool misplaces(const State& state, const Move& move);
  Elimination means_left(int weights, int expands) const;
  static Outlook look_at(const State& state);
  Outlook after(const State& state, const Move& move, Outlook outlook);
  int missing_variables(const State& state) const;
  bool within_costs(const State& next) const;
  bool too_cheap(const State& state) const;

  Space& space_;
  ShapeDistance shape_distance_;
  Placement placement_;
  struct ActiveRule {
    const Rule* rule;
    size_t number;
  };
  std::array<std::vector<ActiveRule>, Move::kinds> rules_of_kind_;
  EnumerationCounters counters_;
  std::vector<Move> proposed_;  ///< kept for its memory
};

/// Moves of one kind that fit the limits, whatever the rules say of them (limits.h), but for
/// contractions that move one of the dimensions `never_moved`.
void proposals(Space& space, const State& state, Move::Kind kind, uint16_t never_moved,
               std::vector<Move>& moves);

}  // namespace opsmith::synthesis
