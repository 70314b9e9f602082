#pragma once

#include <optional>
#include <string>

#include "runtime/expression/program.h"

namespace opsmith::schedule {

/// A program that is one convolution of stride 1, without groups or dilation, with any epilogue:
/// z[n, o, h, w] = sum(c, a, b) x[n, c, h + a - top, w + b - left] * weight[o, c, a, b].
struct ConvolutionPattern {
  std::string input, weight;
  int64_t batch = 0, channels = 0, outputs = 0;
  int64_t height = 0, width = 0;  ///< of the output
  int64_t input_height = 0, input_width = 0;
  int64_t window_height = 0, window_width = 0;
  int64_t top = 0, left = 0;  ///< padding before
};

std::optional<ConvolutionPattern> match_convolution(const expression::Program& program);

}  // namespace opsmith::schedule
