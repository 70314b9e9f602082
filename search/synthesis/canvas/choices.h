#pragma once

#include <vector>

#include "search/synthesis/canvas/kernel.h"

namespace opsmith::synthesis::canvas {

/// How kernels are grown.
struct KernelLimits {
  int least_primitives = 3;  ///< a kernel has a random number of primitives between these
  int most_primitives = 10;
  double most_elements = 64;  ///< of a tensor, over those of the largest layer's input
  bool neighbours = true;     ///< a kernel has to look at neighbours along both H and W
  bool weights = true;        ///< a kernel has to have some
  /// Over those of the layers replaced.
  double most_macs = 1;
  double most_parameters = 1;
};

/// The steps of one type of primitive that fit the shapes of a kernel. Broadcasts come without what
/// shape matching replaces: see `match_shapes`.
std::vector<Step> choices(const Kernel& kernel, Primitive primitive);

/// Whether a kernel stays legal with a step: every dimension and every requirement may still be
/// whole, at most one dynamic variable is in a tensor, no tensor is too large, and the `remaining`
/// further steps may suffice to join the leaves (Canvas, section 6.1), to look at neighbours, to
/// have weights and to come to [C, H, W]. After the last step the one leaf has to be [C, H, W] up
/// to a free width, which is then replaced (`close`).
bool is_legal(Targets& targets, const KernelLimits& limits, const Kernel& kernel, const Step& step,
              int remaining);

/// Makes the channels of the last node multiply to C by replacing a free width. False when they
/// cannot, or when the kernel does not look at neighbours as it should.
bool close(Targets& targets, const KernelLimits& limits, Kernel& kernel);

}  // namespace opsmith::synthesis::canvas
