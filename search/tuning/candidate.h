#pragma once

#include <vector>

#include "runtime/schedule/choice.h"
#include "runtime/schedule/rule_knobs.h"
#include "runtime/schedule/variants/winograd.h"
#include "support/random.h"

namespace opsmith::search {

/// A point of the space that a tuner searches for one kernel: a variant, what the rules leave open
/// in its schedule, and changes to the order of its loops.
struct TuningPoint {
  std::string variant = "direct";
  schedule::RuleKnobs knobs;          ///< of the direct program
  schedule::WinogradTiling winograd;  ///< of the others
  /// Exchanges neighbours in the loop order of the stage with the products: positions of the first.
  std::vector<int64_t> exchanges;
};

/// The program and the schedule at a point. nullopt where the variant does not fit the kernel.
std::optional<schedule::KernelChoice> choice_at(const TuningPoint& point,
                                                const schedule::KernelProblem& problem,
                                                const schedule::Target& target);

/// Where the rules would be, for each variant that `rules` allow.
std::vector<TuningPoint> starting_points(const schedule::KernelProblem& problem,
                                         const schedule::Target& target,
                                         const schedule::ChoiceRules& rules);

/// The point with one thing changed.
TuningPoint neighbour(const TuningPoint& point, const schedule::KernelProblem& problem,
                      const schedule::Target& target, Random& random);

}  // namespace opsmith::search
