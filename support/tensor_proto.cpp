#include "support/tensor_proto.h"

#include <onnx/onnx_pb.h>

#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "support/error.h"

namespace opsmith {
namespace {

using onnx::TensorProto;

// Numbers of TensorProto.DataType; the installed message does not name those from 17 on.
constexpr std::array kDataTypes = {
    std::pair{int32_t{TensorProto::FLOAT}, ElementType::Float32},
    std::pair{int32_t{TensorProto::DOUBLE}, ElementType::Float64},
    std::pair{int32_t{TensorProto::FLOAT16}, ElementType::Float16},
    std::pair{int32_t{TensorProto::BFLOAT16}, ElementType::BFloat16},
    std::pair{int32_t{TensorProto::INT8}, ElementType::Int8},
    std::pair{int32_t{TensorProto::INT16}, ElementType::Int16},
    std::pair{int32_t{TensorProto::INT32}, ElementType::Int32},
    std::pair{int32_t{TensorProto::INT64}, ElementType::Int64},
    std::pair{int32_t{TensorProto::UINT8}, ElementType::UInt8},
    std::pair{int32_t{TensorProto::UINT16}, ElementType::UInt16},
    std::pair{int32_t{TensorProto::UINT32}, ElementType::UInt32},
    std::pair{int32_t{TensorProto::UINT64}, ElementType::UInt64},
    std::pair{int32_t{TensorProto::BOOL}, ElementType::Bool},
    std::pair{int32_t{TensorProto::STRING}, ElementType::String},
    std::pair{17, ElementType::Float8E4M3FN},
    std::pair{18, ElementType::Float8E4M3FNUZ},
    std::pair{19, ElementType::Float8E5M2},
    std::pair{20, ElementType::Float8E5M2FNUZ},
    std::pair{21, ElementType::UInt4},
    std::pair{22, ElementType::Int4},
};

void check_size(int64_t present, int64_t needed, const char* unit, const Shape& shape,
                const std::string& what) {
  if (present == needed) return;
  throw UserError(what + ": holds " + std::to_string(present) + " " + unit + ", but its shape " +
                  to_string(shape) + " needs " + std::to_string(needed) +
                  " (the file is damaged; export it again)");
}

/// Elements from a typed field of the message, one entry per element.
template <typename T, typename Field>
Tensor from_field(const Field& field, ElementType type, const Shape& shape,
                  const std::string& what) {
  check_size(field.size(), element_count(shape), "elements", shape, what);
  Tensor tensor(type, shape);
  T* out = static_cast<T*>(tensor.raw());
  for (int i = 0; i < field.size(); ++i) out[i] = static_cast<T>(field.Get(i));
  return tensor;
}

Tensor from_raw(const std::string& raw, ElementType type, const Shape& shape,
                const std::string& what) {
  if (is_packed(type)) {
    check_size(static_cast<int64_t>(raw.size()), packed_bytes(element_count(shape)), "bytes", shape,
               what);
    return unpack_nibbles(raw, type, shape);
  }
  const auto width = static_cast<int64_t>(element_size(type));
  int64_t needed = 0;
  if (__builtin_mul_overflow(element_count(shape), width, &needed)) {
    throw UserError(what + ": shape " + to_string(shape) + " is too large");
  }
  check_size(static_cast<int64_t>(raw.size()), needed, "bytes", shape, what);
  Tensor tensor(type, shape);
  if (!raw.empty()) std::memcpy(tensor.raw(), raw.data(), raw.size());
  if (type == ElementType::Bool) {  // any byte but 0 is true in files, only 1 is in memory
    for (uint8_t& flag : tensor.data<uint8_t>()) flag = flag != 0;
  }
  return tensor;
}

Tensor from_packed_field(const TensorProto& proto, ElementType type, const Shape& shape,
                         const std::string& what) {
  check_size(proto.int32_data_size(), packed_bytes(element_count(shape)), "bytes", shape, what);
  std::string bytes;
  for (const int32_t byte : proto.int32_data()) bytes.push_back(static_cast<char>(byte));
  return unpack_nibbles(bytes, type, shape);
}

Tensor from_strings(const TensorProto& proto, const Shape& shape, const std::string& what) {
  check_size(proto.string_data_size(), element_count(shape), "strings", shape, what);
  Tensor tensor(ElementType::String, shape);
  for (int i = 0; i < proto.string_data_size(); ++i) {
    tensor.strings()[static_cast<size_t>(i)] = proto.string_data(i);
  }
  return tensor;
}

Tensor from_typed_fields(const TensorProto& proto, ElementType type, const Shape& shape,
                         const std::string& what) {
  switch (type) {
    case ElementType::Float32:
      return from_field<float>(proto.float_data(), type, shape, what);
    case ElementType::Float64:
      return from_field<double>(proto.double_data(), type, shape, what);
    case ElementType::Float16:
    case ElementType::BFloat16:
    case ElementType::UInt16:
      return from_field<uint16_t>(proto.int32_data(), type, shape, what);
    case ElementType::Int8:
      return from_field<int8_t>(proto.int32_data(), type, shape, what);
    case ElementType::Int16:
      return from_field<int16_t>(proto.int32_data(), type, shape, what);
    case ElementType::Int32:
      return from_field<int32_t>(proto.int32_data(), type, shape, what);
    case ElementType::UInt4:
    case ElementType::Int4:
      return from_packed_field(proto, type, shape, what);
    case ElementType::Float8E4M3FN:
    case ElementType::Float8E4M3FNUZ:
    case ElementType::Float8E5M2:
    case ElementType::Float8E5M2FNUZ:
    case ElementType::UInt8:
      return from_field<uint8_t>(proto.int32_data(), type, shape, what);
    case ElementType::Bool:
      return from_field<bool>(proto.int32_data(), type, shape, what);
    case ElementType::Int64:
      return from_field<int64_t>(proto.int64_data(), type, shape, what);
    case ElementType::UInt32:
      return from_field<uint32_t>(proto.uint64_data(), type, shape, what);
    case ElementType::UInt64:
      return from_field<uint64_t>(proto.uint64_data(), type, shape, what);
    default:
      throw InternalError("no typed field for elements of type " + to_string(type));
  }
}

}  // namespace

bool is_packed(ElementType type) { return type == ElementType::UInt4 || type == ElementType::Int4; }

int64_t packed_bytes(int64_t elements) { return elements / 2 + elements % 2; }

Tensor unpack_nibbles(std::string_view bytes, ElementType type, const Shape& shape) {
  Tensor tensor(type, shape);
  auto* out = static_cast<uint8_t*>(tensor.raw());
  for (size_t i = 0; i < static_cast<size_t>(tensor.count()); ++i) {
    const auto pair = static_cast<uint8_t>(bytes[i / 2]);
    const int nibble = i % 2 == 0 ? pair & 0xf : pair >> 4;
    out[i] = static_cast<uint8_t>(type == ElementType::Int4 ? (nibble ^ 8) - 8 : nibble);
  }
  return tensor;
}

std::string pack_nibbles(const Tensor& tensor) {
  std::string bytes(static_cast<size_t>(packed_bytes(tensor.count())), '\0');
  const auto* in = static_cast<const uint8_t*>(tensor.raw());
  for (size_t i = 0; i < static_cast<size_t>(tensor.count()); ++i) {
    const int nibble = (in[i] & 0xf) << (i % 2 == 0 ? 0 : 4);
    bytes[i / 2] = static_cast<char>(static_cast<uint8_t>(bytes[i / 2]) | nibble);
  }
  return bytes;
}

ElementType element_type_from_onnx(int64_t data_type) {
  for (const auto& [number, type] : kDataTypes) {
    if (number == data_type) return type;
  }
  return ElementType::Undefined;
}

int32_t onnx_data_type(ElementType type) {
  for (const auto& [number, ours] : kDataTypes) {
    if (ours == type) return number;
  }
  return 0;
}

Shape shape_from_proto(const TensorProto& proto, const std::string& what) {
  const Shape shape(proto.dims().begin(), proto.dims().end());
  try {
    element_count(shape);
  } catch (const UserError& error) {
    throw UserError(what + ": " + error.what());
  }
  return shape;
}

Tensor tensor_from_proto(const TensorProto& proto, const std::string& what) {
  const ElementType type = element_type_from_onnx(proto.data_type());
  if (type == ElementType::Undefined) {
    throw Unsupported(what + ": element type number " + std::to_string(proto.data_type()) +
                      " is not supported");
  }
  if (proto.has_segment()) throw Unsupported(what + ": tensors in segments are not supported");
  const Shape shape = shape_from_proto(proto, what);
  if (type == ElementType::String) return from_strings(proto, shape, what);
  if (proto.has_raw_data()) return from_raw(proto.raw_data(), type, shape, what);
  return from_typed_fields(proto, type, shape, what);
}

void tensor_to_proto(const Tensor& tensor, TensorProto& proto) {
  proto.set_data_type(onnx_data_type(tensor.type()));
  proto.clear_dims();
  for (const int64_t size : tensor.shape()) proto.add_dims(size);
  if (tensor.type() == ElementType::String) {
    for (const std::string& text : tensor.strings()) proto.add_string_data(text);
  } else if (is_packed(tensor.type())) {
    proto.set_raw_data(pack_nibbles(tensor));
  } else {
    proto.set_raw_data(tensor.raw(), tensor.bytes());
  }
}

Tensor parse_tensor_proto(std::string_view bytes, const std::string& what, std::string* name) {
  TensorProto proto;
  if (bytes.empty() || bytes.size() > size_t{std::numeric_limits<int32_t>::max()} ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw UserError(what + ": not a serialized ONNX tensor, or a truncated one");
  }
  if (name) *name = proto.name();
  return tensor_from_proto(proto, what);
}

}  // namespace opsmith
