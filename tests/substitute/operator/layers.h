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

/// The layers that are awkward: odd extents, groups, strides, dilation, padding on one side only.
inline std::vector<LayerShape> awkward_layers() {
  std::vector<LayerShape> layers = {
      convolution(16, 16, 7),    convolution(12, 20, 7, 3, 2), convolution(10, 16, 9, 3, 1, 2),
      convolution(24, 18, 6, 5), convolution(16, 24, 7, 1, 2), convolution(9, 9, 6),
      convolution(32, 32, 5),
  };
  LayerShape one_sided = convolution(16, 12, 8, 3, 2);
  one_sided.padding_top = one_sided.padding_left = 0;
  layers.push_back(one_sided);
  LayerShape oblong = convolution(12, 12, 7);
  oblong.width = 10;
  oblong.kernel_width = 5;
  oblong.padding_left = 1;
  oblong.padding_right = 2;
  layers.push_back(oblong);
  LayerShape valid = convolution(18, 18, 8);
  valid.padding_top = valid.padding_left = valid.padding_bottom = valid.padding_right = 0;
  layers.push_back(valid);
  return layers;
}

}  // namespace opsmith::substitute::testing
