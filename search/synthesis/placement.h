#pragma once

#include <vector>

#include "search/synthesis/rules/rule.h"
#include "search/synthesis/shape_distance.h"

namespace opsmith::synthesis {

/// Whether dimensions can still come to stand in the input, as far as the rules that are switched
/// on tell: the shape distance knows extents only, and lets every dimension be merged. A dimension
/// is *rigid* when the rules forbid to merge it, and to shift, unfold or stride it, after which it
/// might be merged. It goes into one dimension of the input as a whole, alone or split together
/// with others, or is eliminated. One for each enumerator.
class Placement {
 public:
  explicit Placement(Space& space);

  /// False when `dimension` has no place in the input and cannot be eliminated. `splits` and
  /// `shifts`: how many of them may follow.
  bool possible(const Dimension* dimension, Elimination means, int splits, int shifts);
  /// Whether dimensions of that extent, rigid or not, can be eliminated or have a place.
  bool fits(const SizeInfo* extent, Elimination means, int splits);

  /// The same for all data dimensions of a state.
  bool possible(const State& state, Elimination means);

 private:
  bool is_rigid(const Dimension* dimension, bool may_shift);
  bool find_rigid(const Dimension* dimension, bool may_shift);
  bool forbidden(const std::vector<Rule>& family, const Move& move);

  Space& space_;
  State nothing_;  ///< rules for views look at no state
  StateFacts no_facts_;
  std::vector<Rule> merge_rules_, shift_rules_, unfold_rules_, stride_rules_;
  Dimension window_;                          ///< some window, of which no rule complains by itself
  std::array<std::vector<int8_t>, 2> rigid_;  ///< by `may_shift` and the dimension's id; -1 unknown
};

/// Whether an extent may be the window of an Unfold.
bool is_window(const Limits& limits, const SizeInfo* extent);

}  // namespace opsmith::synthesis
