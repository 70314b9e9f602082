#pragma once

#include <utility>
#include <vector>

#include "runtime/kernels/lowering.h"

// What kernels on quantised integers share.
namespace opsmith::kernels {

/// Least and greatest number of an integer type that values are quantised to. Throws Unsupported
/// naming the node for other types.
std::pair<double, double> quantized_range(ElementType type, const graph::Node& node);

/// Writes a number within the range of the tensor's integer type.
void store_quantized(Tensor& tensor, int64_t at, double number);

/// Zero points as integers; empty when the input is absent.
std::vector<int64_t> zero_points(const PlainCall& call, size_t input);

}  // namespace opsmith::kernels
