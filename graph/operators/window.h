#pragma once

#include <vector>

#include "graph/operators/operator.h"

namespace opsmith::graph {

/// How a window slides over the spatial dimensions of a convolution or pooling: attributes with
/// their defaults filled in.
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> pads_begin, pads_end;  ///< meaningless under SAME padding
  enum class Padding { Explicit, Same } padding = Padding::Explicit;

  /// Throws UserError naming the node when an attribute has the wrong length or is not positive.
  static Window read(const Inference& inference, std::vector<int64_t> kernel);

  /// Extent of spatial dimension `i` after the window; with `ceil_mode` rounded up, but no window
  /// begins in the end padding.
  Dimension extent(const Inference& inference, const Dimension& input, size_t i,
                   bool ceil_mode = false) const;

  /// Kernel extent with dilation.
  int64_t reach(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};

}  // namespace opsmith::graph
