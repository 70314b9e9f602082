#pragma once

#include <array>
#include <cstdint>

#include "search/synthesis/state.h"

namespace opsmith::synthesis {

/// What rules ask of a state again and again, found once for all moves of a kind from it. Sets of
/// data dimensions are bits by their place in `state.data`. Merges and weights are told for
/// contractions only.
struct StateFacts {
  StateFacts() = default;
  StateFacts(const State& state, Move::Kind kind);

  uint16_t reduces = 0;     ///< untouched reductions
  uint16_t strided = 0;     ///< with a Stride that no Unfold has consumed
  uint16_t after_last = 0;  ///< that the last contraction has touched
  bool has_twins = false;   ///< some untouched reductions are alike
  /// By dimension: untouched reductions of the same extent with a lower number.
  std::array<uint16_t, DimensionSet::capacity> earlier_twins{};
  /// By dimension: the other part of the same Merge, 0 when it is not there.
  std::array<uint16_t, DimensionSet::capacity> other_part{};
  /// By weight: what it reads too, whatever Shares lie between.
  std::array<uint16_t, State::most_weights> in_weight{};
  uint64_t last_weight_hash = 0;
};

}  // namespace opsmith::synthesis
