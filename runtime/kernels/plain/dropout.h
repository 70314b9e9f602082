#pragma once

#include "runtime/kernels/lowering.h"

namespace opsmith::kernels {

/// Whether a Dropout drops anything: an attribute before operator set 7, never up to 11, then the
/// third input (nullptr when it is absent).
bool trains_dropout(const graph::Node& node, int64_t opset, const Tensor* training_mode);

}  // namespace opsmith::kernels
