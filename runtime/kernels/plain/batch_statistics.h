#pragma once

#include "runtime/kernels/lowering.h"

namespace opsmith::kernels {

/// BatchNormalization in all its forms: with given moments or, where it is training, those of the
/// batch, which also move the running ones.
std::vector<Tensor> plain_batch_normalization(const PlainCall& call);

/// Whether the node takes its moments from the batch, in the way of the operator set.
bool trains_batch_normalization(const graph::Node& node, int64_t opset);

}  // namespace opsmith::kernels
