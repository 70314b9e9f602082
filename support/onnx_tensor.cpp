#include "support/onnx_tensor.h"

#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>

#include <limits>

#include "support/error.h"
#include "support/file.h"
#include "support/tensor_proto.h"

namespace opsmith {
namespace {

Tensor sequence_from_proto(const onnx::SequenceProto& proto, const std::string& what);

Tensor optional_from_proto(const onnx::OptionalProto& proto, const std::string& what) {
  switch (proto.elem_type()) {
    case onnx::OptionalProto::UNDEFINED:
      return Tensor::optional({});
    case onnx::OptionalProto::TENSOR:
      return Tensor::optional(tensor_from_proto(proto.tensor_value(), what));
    case onnx::OptionalProto::SEQUENCE:
      return Tensor::optional(sequence_from_proto(proto.sequence_value(), what));
    case onnx::OptionalProto::OPTIONAL:
      return Tensor::optional(optional_from_proto(proto.optional_value(), what));
    default:
      throw Unsupported(what + ": optionals of maps and sparse tensors are not supported");
  }
}

Tensor sequence_from_proto(const onnx::SequenceProto& proto, const std::string& what) {
  std::vector<Tensor> elements;
  for (const auto& tensor : proto.tensor_values()) {
    elements.push_back(tensor_from_proto(tensor, what));
  }
  for (const auto& sequence : proto.sequence_values()) {
    elements.push_back(sequence_from_proto(sequence, what));
  }
  for (const auto& optional : proto.optional_values()) {
    elements.push_back(optional_from_proto(optional, what));
  }
  if (proto.map_values_size() > 0 || proto.sparse_tensor_values_size() > 0) {
    throw Unsupported(what + ": sequences of maps and sparse tensors are not supported");
  }
  return Tensor::sequence(std::move(elements));
}

}  // namespace

Tensor read_onnx_value(const std::string& path, ElementType kind) {
  const std::string what = "'" + path + "'";
  const std::string bytes = read_file(path);
  if (kind == ElementType::Sequence) {
    onnx::SequenceProto proto;
    if (!proto.ParseFromString(bytes)) throw UserError(what + ": not a serialized ONNX sequence");
    return sequence_from_proto(proto, what);
  }
  if (kind == ElementType::Optional) {
    onnx::OptionalProto proto;
    if (!proto.ParseFromString(bytes)) throw UserError(what + ": not a serialized ONNX optional");
    return optional_from_proto(proto, what);
  }
  return parse_tensor_proto(bytes, what);
}

NamedTensor read_onnx_tensor(const std::string& path) {
  NamedTensor result;
  result.tensor = parse_tensor_proto(read_file(path), "'" + path + "'", &result.name);
  return result;
}

void write_onnx_tensor(const std::string& path, const NamedTensor& tensor) {
  if (tensor.tensor.bytes() > static_cast<size_t>(std::numeric_limits<int32_t>::max()) / 2) {
    throw UserError("'" + path + "': a tensor above 1 GB does not fit an ONNX tensor file; " +
                    "use .npy");
  }
  onnx::TensorProto proto;
  proto.set_name(tensor.name);
  tensor_to_proto(tensor.tensor, proto);
  write_file(path, proto.SerializeAsString());
}

}  // namespace opsmith
