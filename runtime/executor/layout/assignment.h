#pragma once

#include "runtime/executor/operation.h"

namespace opsmith::executor {

/// Gives every value its layout and inserts the conversions that are then needed.
///
/// Convolutions read and write channels in blocks of `block`; elementwise work, pooling and
/// concatenation keep what they are given; everything else is row-major. A value that convolutions
/// read with padding gets a halo as wide as the farthest read, so that they need no bounds tests.
/// Convolutions over few channels read row-major. Graph inputs and outputs are row-major.
void assign_layouts(OperationList& list, int64_t block);

/// Whether the elements lie in memory just as row-major ones do.
bool same_as_row_major(const schedule::Layout& layout, const Shape& shape);

}  // namespace opsmith::executor
