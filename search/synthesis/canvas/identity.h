#pragma once

#include <cstdint>

#include "search/synthesis/canvas/kernel.h"

namespace opsmith::synthesis::canvas {

/// Identifies a complete kernel whatever the order in which its nodes and its variables were made
/// and whatever the order of the operands of a commutative function: labels of the nodes, refined
/// by those of their operands, their users and the variables in their shapes (Weisfeiler and
/// Lehman). The same on every machine. The number of groups counts where the kernel groups.
uint64_t identity(const Kernel& kernel, int64_t groups);

}  // namespace opsmith::synthesis::canvas
