#include <onnx/onnx_pb.h>

#include "importer/graph_reader.h"
#include "support/error.h"
#include "support/tensor_proto.h"

namespace opsmith::importer {
namespace {

graph::SymbolicShape read_shape(const onnx::TensorShapeProto& proto, const std::string& name) {
  graph::SymbolicShape shape;
  for (const auto& dimension : proto.dim()) {
    if (dimension.has_dim_value() && dimension.dim_value() >= 0) {
      shape.emplace_back(dimension.dim_value());
    } else if (dimension.has_dim_value() && dimension.dim_value() != -1) {
      throw UserError("value '" + name + "' is declared with the negative dimension " +
                      std::to_string(dimension.dim_value()));
    } else if (dimension.has_dim_param() && !dimension.dim_param().empty()) {
      shape.push_back(graph::Dimension::named(dimension.dim_param()));
    } else {
      shape.emplace_back();  // nothing said, or -1, as some exporters write it
    }
  }
  return shape;
}

}  // namespace

void read_declaration(const onnx::ValueInfoProto& proto, graph::Value& value) {
  value.documentation = proto.doc_string();
  if (!proto.has_type() || value.constant) return;
  const onnx::TypeProto& type = proto.type();
  if (type.value_case() == onnx::TypeProto::VALUE_NOT_SET) return;
  // Of two declarations that contradict the later one counts, whole.
  value.type = ElementType::Undefined;
  value.shape.reset();
  value.opaque_type.clear();
  if (!type.has_tensor_type()) {
    value.opaque_type = type.SerializeAsString();
    if (type.has_sequence_type()) value.type = ElementType::Sequence;
    if (type.has_optional_type()) value.type = ElementType::Optional;
    return;
  }
  const auto& tensor = type.tensor_type();
  value.type = element_type_from_onnx(tensor.elem_type());
  if (tensor.elem_type() == onnx::TensorProto::UNDEFINED) return;  // says nothing
  if (value.type == ElementType::Undefined) value.opaque_type = type.SerializeAsString();
  if (tensor.has_shape()) value.shape = read_shape(tensor.shape(), proto.name());
}

}  // namespace opsmith::importer
