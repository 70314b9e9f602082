#pragma once

#include "search/synthesis/canvas/budget.h"
#include "search/synthesis/sampler.h"

namespace opsmith::synthesis::canvas {

/// A linear piece of a kernel that is left open: what one FullyConnected with the views below it
/// makes of the tensor that they read, between fixed shapes. Syno's search fills it.
struct OpenRegion {
  int node = 0;     ///< of the FullyConnected
  int operand = 0;  ///< node that the views read
  Problem problem;  ///< the operators that fit, for all layers at once
};

/// The pieces of a solved kernel that may be left open: those whose operand and result have all of
/// H and W and whose layers need no composition (equal channels).
std::vector<OpenRegion> open_regions(const Kernel& kernel, const Targets& targets,
                                     const Solution& solution);

/// The kernel's operator for a layer with an open region filled by an operator found for it.
substitute::ValueGraph fill(const Kernel& kernel, const Targets& targets, const Solution& solution,
                            const OpenRegion& region, const FoundOperator& found, size_t layer);

}  // namespace opsmith::synthesis::canvas
