#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "search/synthesis/state.h"

namespace opsmith::synthesis {

/// Rewards seen through a node or a move: count, mean and variance (Welford).
struct RewardStatistics {
  int64_t visits = 0;
  double mean = 0;
  double squares = 0;   ///< sum of squared deviations
  int64_t pending = 0;  ///< evaluations under way

  void add(double reward) {
    ++visits;
    const double before = reward - mean;
    mean += before / static_cast<double>(visits);
    squares += before * (reward - mean);
  }

  /// UCB1-tuned (Auer, Cesa-Bianchi and Fischer, 2002) with virtual loss. Infinite when unvisited
  /// and not under way.
  double upper_bound(int64_t parent_visits, double exploration, double virtual_loss) const {
    if (visits == 0) return pending > 0 ? -virtual_loss * static_cast<double>(pending) : INFINITY;
    const double n = static_cast<double>(visits);
    const double log = std::log(static_cast<double>(std::max<int64_t>(parent_visits, 1)));
    const double spread = std::min(0.25, squares / n + std::sqrt(2 * log / n));
    return mean + exploration * std::sqrt(log / n * spread) -
           virtual_loss * static_cast<double>(pending);
  }
};

/// What a search knows of one state, kept by the state's hash.
struct NodeStatistics {
  RewardStatistics all;
  RewardStatistics end;                                ///< of ending here
  std::array<RewardStatistics, Move::kinds> kinds;     ///< of going on by a kind
  std::array<std::vector<int>, Move::kinds> revealed;  ///< instances, by number
  bool dead = false;                                   ///< no operator can be reached from here
  bool refused = false;                                ///< complete, but outside the limits

  RewardStatistics& choice(int kind) {
    return kind == Move::kinds ? end : kinds[static_cast<size_t>(kind)];
  }
};

}  // namespace opsmith::synthesis
