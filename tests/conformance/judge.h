#pragma once

#include <string>

#include "graph/graph.h"

namespace opsmith::conformance {

/// Why a value is not what the case expects; empty when it is. Reals may differ by 1e-7 + 1e-3 of
/// the expected number (the tolerance of ONNX's own runner); all else must be equal.
std::string difference(const Tensor& actual, const Tensor& expected);

/// For values made of random numbers, where ONNX's data hold one library's draw: type and shape
/// must be equal, mean and standard deviation as close as two draws of that size are (five
/// standard errors).
std::string statistical_difference(const Tensor& actual, const Tensor& expected);

/// Whether a node of the model, in a body of a function or control flow too, draws random numbers.
/// Dropout counts where it is training with a ratio other than 0.
bool draws_random_numbers(const graph::Model& model);

}  // namespace opsmith::conformance
