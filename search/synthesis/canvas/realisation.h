#pragma once

#include "search/synthesis/canvas/budget.h"
#include "substitute/operator/candidate.h"

namespace opsmith::synthesis::canvas {

/// The value graph of a complete kernel for a layer whose channels differ by a factor of `copies`
/// (Canvas, figure 2). Views are read in place where a FullyConnected follows. Its free variables
/// keep their names; C, R (copies, where there are several) and the others are bound by
/// `bound_sizes`.
enum class Composition : uint8_t {
  Single,  ///< [N, C, H, W] -> [N, C, H, W]
  Join,    ///< [N, C, H, W] -> [N, R*C, H, W]: R kernels on one input
  Add,     ///< [N, R*C, H, W] -> [N, C, H, W]: R kernels on parts of the input
};
Composition composition_for(const substitute::LayerShape& layer);

substitute::ValueGraph realise(const Kernel& kernel, Composition composition);

/// The operator bound for one of its layers. Height and width stay symbols unless a weight depends
/// on them.
substitute::ValueGraph realise(const Kernel& kernel, const Targets& targets,
                               const Solution& solution, size_t layer);

/// With its program for the layer.
substitute::Candidate candidate(const Kernel& kernel, const Targets& targets,
                                const Solution& solution, size_t layer);

}  // namespace opsmith::synthesis::canvas
