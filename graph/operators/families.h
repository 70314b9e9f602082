#pragma once

#include <span>

#include "graph/operators/operator.h"

namespace opsmith::graph {

/// The operators of each family; the registry joins them.
std::span<const OperatorDefinition> arithmetic_operators();
std::span<const OperatorDefinition> constant_operators();
std::span<const OperatorDefinition> control_operators();
std::span<const OperatorDefinition> convolution_operators();
std::span<const OperatorDefinition> elementwise_operators();
std::span<const OperatorDefinition> indexing_operators();
std::span<const OperatorDefinition> matrix_operators();
std::span<const OperatorDefinition> movement_operators();
std::span<const OperatorDefinition> normalization_operators();
std::span<const OperatorDefinition> pooling_operators();
std::span<const OperatorDefinition> quantization_operators();
std::span<const OperatorDefinition> recurrent_operators();
std::span<const OperatorDefinition> reduction_operators();
std::span<const OperatorDefinition> resizing_operators();
std::span<const OperatorDefinition> shape_operators();
std::span<const OperatorDefinition> slicing_operators();

}  // namespace opsmith::graph
