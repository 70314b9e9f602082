#pragma once

#include <cstdint>
#include <vector>

#include "runtime/expression/program.h"

namespace opsmith::expression {

/// A stage as a sequence of cheaper ones; the last has the name and epilogue of the original.
struct Factoring {
  std::vector<Stage> stages;
  /// Of all stages; an intermediate without a reduction counts one for each element.
  int64_t multiply_accumulates = 0;
};

/// Splits a sum over a product of several factors into stages of at most two factors each, in the
/// contraction order with the fewest multiply-accumulates (Syno's materialised reductions). All
/// orders are tried, for up to 8 factors. A reduction is summed as soon as every factor that
/// mentions its iterator is inside. Where the iterators of a whole index such as h + a - 1 are
/// mentioned nowhere else inside, the intermediate has one axis for the index instead of one for
/// each iterator (the later read outside of it gives 0 as the original read did; so only with fill
/// 0). Intermediates have the stage's accumulation type. The result is the original stage where
/// nothing is cheaper. The values are the same up to rounding as long as all are finite. Costs are
/// counted with open symbols at their `typical` values, which must bind all of them; the stages
/// keep the symbols.
Factoring factor(const Program& program, const Stage& stage, const Binding& typical = {});

/// Factors every stage.
Program factor(const Program& program, const Binding& typical = {});

}  // namespace opsmith::expression
