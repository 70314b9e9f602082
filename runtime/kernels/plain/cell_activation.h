#pragma once

#include <functional>
#include <vector>

#include "runtime/kernels/lowering.h"

namespace opsmith::kernels {

using CellActivation = std::function<double(double)>;

/// The activations of one direction of a recurrent layer: one for an RNN, two for a GRU, three for
/// an LSTM, from the attributes `activations`, `activation_alpha` and `activation_beta` with the
/// defaults of the ONNX specification. Throws UserError naming the node for unknown ones.
std::vector<CellActivation> cell_activations(const graph::Node& node, int64_t direction);

}  // namespace opsmith::kernels
