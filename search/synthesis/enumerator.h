#pragma once

#include <vector>

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
  bool accepts(const State& state, const Move& move);
  bool exceeds_depth(const State& next);
  int missing_variables(const State& state) const;
  bool within_costs(const State& next) const;

  Space& space_;
  ShapeDistance shape_distance_;
  std::array<std::vector<size_t>, Move::kinds> rules_of_kind_;
  EnumerationCounters counters_;
};

/// Moves of one kind that fit the limits, whatever the rules say of them (limits.h).
std::vector<Move> proposals(Space& space, const State& state, Move::Kind kind);

}  // namespace opsmith::synthesis
