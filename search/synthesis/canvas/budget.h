#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "search/synthesis/canvas/choices.h"

namespace opsmith::synthesis::canvas {

/// Values of the free variables by layer: values[layer][variable].
using VariableValues = std::vector<std::vector<int64_t>>;

/// The least values that are whole in every layer and grow with the channels (Canvas, section
/// 6.3): multiples[i][j] is what variable j has to be a multiple of in layer i; with layer 1 the
/// one of the fewest channels,
///     x[i][j] = multiples[i][j] * ceil(C[i] * multiples[1][j] / (C[1] * multiples[i][j])).
/// Variables with `grows[j]` false are not scaled by the channels. Throws UserError on overflow.
VariableValues base_values(const VariableValues& multiples, const std::vector<int64_t>& channels,
                           const std::vector<bool>& grows);

/// What one layer uses of each budget, as a share of it, with its variables at some values.
using LayerUse =
    std::function<std::vector<double>(size_t layer, const std::vector<int64_t>& values)>;

/// Doubles single variables of single layers, the one that uses least more of the budgets first,
/// until none can be doubled within them. A use may be infinite. False, with the values as they
/// were, when even those exceed a budget.
bool use_budget(VariableValues& values, const LayerUse& use);

/// A kernel with values for what is free in it.
struct Solution {
  std::vector<int> variables;  ///< their numbers in the kernel's extents
  VariableValues values;
  double macs = 0;  ///< of all layers, one image
  double parameters = 0;
};

/// Solves a complete kernel for its layers: least values first, then as large as the limits on
/// multiply-accumulates and parameters let them be. False when there is no legal assignment
/// within the limits.
bool solve(const Targets& targets, const KernelLimits& limits, const Kernel& kernel,
           Solution& solution);

/// What variables have to be multiples of, so that all extents and requirements are whole.
VariableValues required_multiples(const Targets& targets, const Kernel& kernel,
                                  const std::vector<int>& variables);

}  // namespace opsmith::synthesis::canvas
