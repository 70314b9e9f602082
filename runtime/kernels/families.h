#pragma once

#include <vector>

#include "runtime/kernels/lowering.h"

namespace opsmith::kernels {

// Operators that become expressions.
std::vector<KernelDefinition> convolution_kernels();
std::vector<KernelDefinition> transposed_convolution_kernels();
std::vector<KernelDefinition> matrix_product_kernels();
std::vector<KernelDefinition> pooling_kernels();
std::vector<KernelDefinition> normalization_kernels();
std::vector<KernelDefinition> softmax_kernels();
std::vector<KernelDefinition> reduction_kernels();
std::vector<KernelDefinition> unary_kernels();
std::vector<KernelDefinition> activation_kernels();
std::vector<KernelDefinition> binary_kernels();
std::vector<KernelDefinition> selection_kernels();
std::vector<KernelDefinition> resize_kernels();
std::vector<KernelDefinition> synthesized_kernels();

// Data movement and control: plain functions.
std::vector<KernelDefinition> view_kernels();
std::vector<KernelDefinition> generator_kernels();
std::vector<KernelDefinition> cast_kernels();
std::vector<KernelDefinition> transpose_kernels();
std::vector<KernelDefinition> join_kernels();
std::vector<KernelDefinition> slice_kernels();
std::vector<KernelDefinition> gather_kernels();
std::vector<KernelDefinition> scatter_kernels();
std::vector<KernelDefinition> pad_kernels();
std::vector<KernelDefinition> repeat_kernels();
std::vector<KernelDefinition> ranking_kernels();
std::vector<KernelDefinition> triangle_kernels();
std::vector<KernelDefinition> block_kernels();

}  // namespace opsmith::kernels
