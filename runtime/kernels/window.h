#pragma once

#include <vector>

#include "runtime/kernels/lowering.h"

namespace opsmith::kernels {

/// The sliding window of a convolution or pooling, per spatial dimension, with defaults and
/// auto_pad resolved (ONNX operator specification, Conv and the pooling operators).
struct Window {
  Shape kernel;
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  Shape output;  ///< spatial extents of the output

  size_t rank() const { return kernel.size(); }
  /// Input position that the window's element 0 reads for output position 0: -pads_begin.
  int64_t origin(size_t i) const { return -pads_begin[i]; }
};

/// `input` holds the spatial extents; `kernel` the window, from attribute or weight. Throws
/// UserError naming the node where the attributes contradict each other or the shape.
Window make_window(const graph::Node& node, const Shape& input, const Shape& kernel);

/// The same for ConvTranspose: `output` from output_shape, output_padding and pads.
Window make_transposed_window(const graph::Node& node, const Shape& input, const Shape& kernel);

}  // namespace opsmith::kernels
