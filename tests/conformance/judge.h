#pragma once

#include <map>
#include <string>

#include "graph/graph.h"

namespace opsmith::conformance {

/// Why a value is not what the case expects; empty when it is. Reals may differ by 1e-7 of
/// the largest expected number (at least 1) + 1e-3 of the expected one (the tolerance of ONNX's own
/// runner; of bfloat16 by one unit in the last place); all else must be equal.
std::string difference(const Tensor& actual, const Tensor& expected);

/// For values made of random numbers, where ONNX's data hold one library's draw: type and shape
/// must be equal, mean and standard deviation as close as two draws of that size are (five
/// standard errors).
std::string statistical_difference(const Tensor& actual, const Tensor& expected);

/// Whether a node of the model, in a body of a function or control flow too, draws random numbers.
/// Dropout counts where it is training with a ratio other than 0; `inputs` are those of the model.
bool draws_random_numbers(const graph::Model& model, const std::map<std::string, Tensor>& inputs);

}  // namespace opsmith::conformance
