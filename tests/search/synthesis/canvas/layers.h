#pragma once

#include <vector>

#include "search/synthesis/canvas/choices.h"
#include "substitute/operator/candidate.h"

namespace opsmith::synthesis::canvas::testing {

inline substitute::LayerShape convolution(int64_t input, int64_t output, int64_t height,
                                          int64_t width, int64_t kernel = 3) {
  substitute::LayerShape layer;
  layer.input_channels = input;
  layer.output_channels = output;
  layer.height = height;
  layer.width = width;
  layer.kernel_height = layer.kernel_width = kernel;
  layer.padding_top = layer.padding_left = layer.padding_bottom = layer.padding_right = kernel / 2;
  return layer;
}

/// Small enough for the interpreter; with each way to compose a kernel.
inline std::vector<substitute::LayerShape> small_layers() {
  return {convolution(4, 4, 5, 4), convolution(4, 8, 4, 3), convolution(12, 6, 3, 4),
          convolution(8, 8, 3, 3, 5)};
}

/// Wide limits: what small layers cost says little.
inline KernelLimits small_limits() {
  KernelLimits limits;
  limits.most_macs = 4;
  limits.most_parameters = 4;
  return limits;
}

}  // namespace opsmith::synthesis::canvas::testing
