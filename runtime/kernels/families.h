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
std::vector<KernelDefinition> einsum_kernels();
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
std::vector<KernelDefinition> selecting_kernels();
std::vector<KernelDefinition> unique_kernels();
std::vector<KernelDefinition> sequence_kernels();

// What is rare: plain functions that compute.
std::vector<KernelDefinition> quantization_kernels();
std::vector<KernelDefinition> integer_product_kernels();
std::vector<KernelDefinition> recurrent_kernels();
std::vector<KernelDefinition> dropout_kernels();
std::vector<KernelDefinition> random_kernels();
std::vector<KernelDefinition> string_kernels();
std::vector<KernelDefinition> regular_expression_kernels();
std::vector<KernelDefinition> ngram_kernels();
std::vector<KernelDefinition> signal_kernels();
std::vector<KernelDefinition> loss_kernels();
std::vector<KernelDefinition> sampling_kernels();
std::vector<KernelDefinition> region_kernels();
std::vector<KernelDefinition> unpool_kernels();
std::vector<KernelDefinition> linear_algebra_kernels();

}  // namespace opsmith::kernels
