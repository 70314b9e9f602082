#pragma once

#include "runtime/kernels/attributes.h"

namespace opsmith::kernels {

/// A tensor seen as [outer, extent, inner] around one axis. Throws UserError naming the node where
/// there is no such axis.
struct AlongAxis {
  size_t axis;
  int64_t outer, extent, inner;

  AlongAxis(int64_t given, const Shape& shape, const graph::Node& node)
      : axis(static_cast<size_t>(normalize_axis(given, static_cast<int64_t>(shape.size()), node))),
        outer(extent_product(shape, 0, axis)),
        extent(shape[axis]),
        inner(extent_product(shape, axis + 1, shape.size())) {}
};

}  // namespace opsmith::kernels
