#include "exporter/graph_writer.h"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include "support/error.h"
#include "support/tensor_proto.h"

namespace opsmith::exporter {
namespace {

using graph::Attribute;
using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::Value;
using graph::ValueId;
using onnx::AttributeProto;

/// Field `attribute_proto` of FunctionProto (IR version 9), which the installed message lacks.
constexpr int kFunctionDefaultsField = 11;

void write_declaration(const Value& value, onnx::ValueInfoProto& proto) {
  proto.set_name(value.name);
  if (!value.documentation.empty()) proto.set_doc_string(value.documentation);
  if (!value.opaque_type.empty()) {
    if (!proto.mutable_type()->ParseFromString(value.opaque_type)) {
      throw InternalError("the type of value '" + value.name + "' cannot be read back");
    }
    return;
  }
  if (onnx_data_type(value.type) == 0) return;
  auto* tensor = proto.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx_data_type(value.type));
  if (!value.shape) return;
  tensor->mutable_shape();
  for (const graph::Dimension& dimension : *value.shape) {
    auto* written = tensor->mutable_shape()->add_dim();
    if (dimension.known()) {
      written->set_dim_value(*dimension.size);
    } else if (!dimension.symbol.empty()) {
      written->set_dim_param(dimension.symbol);
    }
  }
}

bool is_constant(const Value& value) { return value.constant || value.opaque_constant; }

}  // namespace

void GraphWriter::write_graph(const Graph& source, onnx::GraphProto& proto) {
  Graph graph = source;
  graph.compact();
  graph.sort();
  proto.set_name(graph.name.empty() ? "graph" : graph.name);
  if (!graph.documentation.empty()) proto.set_doc_string(graph.documentation);
  for (const ValueId id : graph.inputs) write_declaration(graph.value(id), *proto.add_input());
  for (const ValueId id : graph.outputs) write_declaration(graph.value(id), *proto.add_output());
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Value& value = graph.value(id);
    if (value.captured) continue;
    if (value.constant) {
      auto* tensor = proto.add_initializer();
      tensors_.write(*value.constant, *tensor);
      tensor->set_name(value.name);
    } else if (value.opaque_constant) {
      auto* tensor = proto.add_initializer();
      if (!tensor->ParseFromString(*value.opaque_constant)) {
        throw InternalError("the constant '" + value.name + "' cannot be read back");
      }
      tensor->set_name(value.name);
    } else if (!graph.is_input(id) && !graph.is_output(id) &&
               (onnx_data_type(value.type) != 0 || !value.opaque_type.empty() ||
                !value.documentation.empty())) {
      write_declaration(value, *proto.add_value_info());
    }
  }
  for (const Node& node : graph.nodes) write_node(graph, node, *proto.add_node());
}

void GraphWriter::write_node(const Graph& graph, const Node& node, onnx::NodeProto& proto) {
  proto.set_name(node.name);
  if (node.opset != 0) {
    throw Unsupported(describe(node) + " is written for operator set " +
                      std::to_string(node.opset) +
                      ", in which it means something else than in the model's; export the model "
                      "without inlining its functions");
  }
  proto.set_op_type(node.type);
  if (!node.documentation.empty()) proto.set_doc_string(node.documentation);
  if (!node.domain.empty()) proto.set_domain(node.domain);
  for (const ValueId id : node.inputs) {
    proto.add_input(id == kNoValue ? std::string() : graph.value(id).name);
  }
  for (const ValueId id : node.outputs) {
    proto.add_output(id == kNoValue ? std::string() : graph.value(id).name);
  }
  for (const auto& [name, attribute] : node.attributes) {
    write_attribute(name, attribute, *proto.add_attribute());
  }
}

void GraphWriter::write_attribute(const std::string& name, const Attribute& attribute,
                                  AttributeProto& proto) {
  if (const auto* opaque = std::get_if<graph::OpaqueAttribute>(&attribute)) {
    if (!proto.ParseFromString(opaque->bytes)) {
      throw InternalError("the attribute '" + name + "' cannot be read back");
    }
  } else if (const auto* reference = std::get_if<graph::AttributeReference>(&attribute)) {
    proto.set_ref_attr_name(reference->name);
    proto.set_type(static_cast<AttributeProto::AttributeType>(reference->type));
  } else if (const auto* integer = std::get_if<int64_t>(&attribute)) {
    proto.set_type(AttributeProto::INT);
    proto.set_i(*integer);
  } else if (const auto* real = std::get_if<float>(&attribute)) {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&attribute)) {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(*text);
  } else if (const auto* tensor = std::get_if<Tensor>(&attribute)) {
    proto.set_type(AttributeProto::TENSOR);
    tensor_to_proto(*tensor, *proto.mutable_t());
  } else if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute)) {
    proto.set_type(AttributeProto::GRAPH);
    write_graph(**body, *proto.mutable_g());
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&attribute)) {
    proto.set_type(AttributeProto::INTS);
    proto.mutable_ints()->Add(integers->begin(), integers->end());
  } else if (const auto* reals = std::get_if<std::vector<float>>(&attribute)) {
    proto.set_type(AttributeProto::FLOATS);
    proto.mutable_floats()->Add(reals->begin(), reals->end());
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute)) {
    proto.set_type(AttributeProto::STRINGS);
    for (const std::string& entry : *texts) proto.add_strings(entry);
  } else if (const auto* tensors = std::get_if<std::vector<Tensor>>(&attribute)) {
    proto.set_type(AttributeProto::TENSORS);
    for (const Tensor& entry : *tensors) tensor_to_proto(entry, *proto.add_tensors());
  } else if (const auto* bodies = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute)) {
    proto.set_type(AttributeProto::GRAPHS);
    for (const std::shared_ptr<Graph>& entry : *bodies) write_graph(*entry, *proto.add_graphs());
  }
  proto.set_name(name);
}

void GraphWriter::write_function(const graph::Function& function, onnx::FunctionProto& proto) {
  proto.set_name(function.name);
  proto.set_domain(function.domain);
  proto.set_doc_string(function.documentation);
  for (const std::string& name : function.attributes) proto.add_attribute(name);
  for (const auto& [domain, version] : function.opsets) {
    auto* opset = proto.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  Graph body = function.body;
  body.sort();
  for (const ValueId id : body.inputs) proto.add_input(body.value(id).name);
  for (const ValueId id : body.outputs) proto.add_output(body.value(id).name);
  for (size_t i = 0; i < body.value_count(); ++i) {
    const Value& value = body.value(static_cast<ValueId>(i));
    if (!is_constant(value)) continue;
    Node constant;
    constant.type = "Constant";
    constant.name = value.name;
    constant.outputs = {static_cast<ValueId>(i)};
    if (value.constant) {
      constant.attributes = {{"value", *value.constant}};
    } else {
      AttributeProto attribute;
      attribute.set_type(AttributeProto::TENSOR);
      attribute.mutable_t()->ParseFromString(*value.opaque_constant);
      constant.attributes = {{"value", graph::OpaqueAttribute{attribute.SerializeAsString()}}};
    }
    write_node(body, constant, *proto.add_node());
  }
  for (const Node& node : body.nodes) write_node(body, node, *proto.add_node());
  for (const auto& [name, attribute] : function.defaults) {
    AttributeProto written;
    write_attribute(name, attribute, written);
    proto.mutable_unknown_fields()->AddLengthDelimited(kFunctionDefaultsField,
                                                       written.SerializeAsString());
  }
}

}  // namespace opsmith::exporter
