#pragma once

#include "runtime/kernels/lowering.h"
#include "support/random.h"

namespace opsmith::kernels {

/// The random numbers of one call of a node: those of its attribute `seed`, or, without one, others
/// at each call in a process.
Random random_of(const graph::Node& node);

}  // namespace opsmith::kernels
