#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/tensor.h"

namespace onnx {
class TensorProto;
}

namespace opsmith {

/// Our element type for a number of ONNX's TensorProto.DataType; Undefined for those we have none
/// for (complex).
ElementType element_type_from_onnx(int64_t data_type);
/// The inverse; 0 for Undefined.
int32_t onnx_data_type(ElementType type);

/// Whether files hold two elements in a byte (4-bit integers), the first in the lower half.
bool is_packed(ElementType type);
int64_t packed_bytes(int64_t elements);
/// `bytes` must hold packed_bytes of the shape's elements.
Tensor unpack_nibbles(std::string_view bytes, ElementType type, const Shape& shape);
std::string pack_nibbles(const Tensor& tensor);

/// The tensor of a TensorProto whose elements lie in the message itself (raw_data or a typed
/// field). `what` names it in messages ("tensor 'w' in model.onnx"). Throws UserError when the
/// elements do not fit the shape, Unsupported for a type that we do not know; allocates no more
/// than a small multiple of what the message holds.
Tensor tensor_from_proto(const onnx::TensorProto& proto, const std::string& what);

/// The shape of a TensorProto. Throws UserError for a negative or absurd one.
Shape shape_from_proto(const onnx::TensorProto& proto, const std::string& what);

/// Writes type, shape and elements (as raw_data) into `proto`.
void tensor_to_proto(const Tensor& tensor, onnx::TensorProto& proto);

/// A serialized TensorProto, as in the `.pb` files of ONNX's test data. `name` receives the name
/// in it if it is not null.
Tensor parse_tensor_proto(std::string_view bytes, const std::string& what,
                          std::string* name = nullptr);

}  // namespace opsmith
