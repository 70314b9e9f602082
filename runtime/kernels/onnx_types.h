#pragma once

#include "runtime/kernels/lowering.h"

namespace opsmith::kernels {

/// The element type that a number of ONNX's TensorProto.DataType stands for (attributes `to` and
/// `dtype`). Throws Unsupported naming the node.
ElementType onnx_element_type(int64_t number, const graph::Node& node);

}  // namespace opsmith::kernels
