#pragma once

#include <string>

#include "support/tensor.h"

namespace opsmith {

struct NamedTensor {
  std::string name;  ///< often empty
  Tensor tensor;
};

/// Reads a file that holds one serialized TensorProto or, where `kind` is Sequence or Optional,
/// SequenceProto or OptionalProto: an input or output of ONNX's test data. Throws UserError naming
/// the file, Unsupported for maps and sparse tensors.
Tensor read_onnx_value(const std::string& path, ElementType kind);

/// Reads and writes a file that holds one serialized TensorProto ("input_0.pb" of ONNX's test
/// data). Throws UserError naming the file and what is wrong with it.
NamedTensor read_onnx_tensor(const std::string& path);
void write_onnx_tensor(const std::string& path, const NamedTensor& tensor);

}  // namespace opsmith
