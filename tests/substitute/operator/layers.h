#pragma once

#include <vector>

#include "substitute/operator/candidate.h"

namespace opsmith::substitute::testing {

/// A convolution with "same" padding for its window at stride 1.
inline LayerShape convolution(int64_t input_channels, int64_t output_channels, int64_t extent,
                              int64_t kernel = 3, int64_t stride = 1, int64_t dilation = 1) {
  LayerShape layer;
  layer.input_channels = input_channels;
  layer.output_channels = output_channels;
  layer.height = layer.width = extent;
  layer.kernel_height = layer.kernel_width = kernel;
  layer.stride = stride;
  layer.dilation = dilation;
  layer.padding_top = layer.padding_left = layer.padding_bottom = layer.padding_right =
      dilation * (kernel / 2);
  return layer;
}

inline LayerShape product(int64_t inner, int64_t columns) {
  LayerShape layer;
  layer.kind = LayerShape::Kind::Product;
  layer.input_channels = inner;
  layer.output_channels = columns;
  return layer;
}

}  // namespace opsmith::substitute::testing
