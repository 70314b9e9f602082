#pragma once

#include <optional>
#include <string>

#include "substitute/operator/candidate.h"
#include "substitute/operator/region.h"

namespace opsmith::substitute {

/// The size variables and amounts that a layer gives to operators:
///   convolution  N, H, W (symbols), C_in, C_out, kh, kw, stride, dilation, pad_top, pad_left and
///                H_out, W_out (expressions in H and W)
///   product      M (symbol), K, C_out
SizeValues layer_values(const LayerShape& layer);

/// The symbols that the layer fixes: its height and width where they are not dynamic.
expression::Binding fixed_extents(const LayerShape& layer);

/// The binding of the symbols for one run of the layer; a dynamic height or width counts as 64.
expression::Binding typical_binding(const LayerShape& layer, int64_t batch = 1);

/// Extent of a convolution's output along one dimension.
int64_t output_extent(int64_t input, int64_t kernel, int64_t stride, int64_t dilation,
                      int64_t padding);

/// Multiply-accumulates of the layer as it is (ungrouped), under `typical_binding`.
int64_t layer_macs(const LayerShape& layer, int64_t batch = 1);

/// Stride 1, no dilation, odd window and the padding that keeps height and width: what operators
/// with a fixed window rule need. Empty when it holds, otherwise why it does not.
std::string why_not_same_window(const LayerShape& layer);

/// One line for messages: "conv 3x3 64->128 stride 2 at 56x56".
std::string to_string(const LayerShape& layer);

}  // namespace opsmith::substitute
