#pragma once

#include "runtime/executor/operation.h"

namespace opsmith::executor {

/// Makes elementwise operations part of the operation that feeds them: bias, activations (also
/// those that read the value several times, such as x * sigmoid(x) and the erf form of Gelu),
/// residual addition, chains of elementwise operations.
///
/// Before: Conv -> a;  Add(a, b) -> c;  Relu(c) -> d        (a and c read nowhere else)
/// After:  Conv with epilogue max(_ + b, 0) -> d, at the place of Relu
///
/// A value that is a graph output or has a reader outside stays. Returns how many operations
/// disappeared.
int fuse_elementwise(OperationList& list);

}  // namespace opsmith::executor
