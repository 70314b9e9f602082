#include "importer/graph_reader.h"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <unordered_set>

#include "support/error.h"
#include "support/tensor_proto.h"

namespace opsmith::importer {
namespace {

using graph::Attribute;
using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::Value;
using graph::ValueId;
using onnx::AttributeProto;

/// Field `attribute_proto` of FunctionProto (IR version 9), which the installed message does not
/// have and keeps among its unknown fields.
constexpr int kFunctionDefaultsField = 11;

/// The type of an attribute; files of IR version 1 do not say it.
AttributeProto::AttributeType type_of(const AttributeProto& proto) {
  if (proto.type() != AttributeProto::UNDEFINED) return proto.type();
  if (proto.has_f()) return AttributeProto::FLOAT;
  if (proto.has_i()) return AttributeProto::INT;
  if (proto.has_s()) return AttributeProto::STRING;
  if (proto.has_t()) return AttributeProto::TENSOR;
  if (proto.has_g()) return AttributeProto::GRAPH;
  if (proto.floats_size()) return AttributeProto::FLOATS;
  if (proto.strings_size()) return AttributeProto::STRINGS;
  if (proto.tensors_size()) return AttributeProto::TENSORS;
  if (proto.graphs_size()) return AttributeProto::GRAPHS;
  return proto.ints_size() ? AttributeProto::INTS : AttributeProto::UNDEFINED;
}

bool known_type(const onnx::TensorProto& proto) {
  return element_type_from_onnx(proto.data_type()) != ElementType::Undefined;
}

std::string serialized_type(const onnx::TensorProto& tensor) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(tensor.data_type());
  return type.SerializeAsString();
}

/// Defaults of a function's attributes, serialized.
std::vector<std::string> default_attributes(const onnx::FunctionProto& proto) {
  std::vector<std::string> found;
  const google::protobuf::UnknownFieldSet& unknown = proto.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    const google::protobuf::UnknownField& field = unknown.field(i);
    if (field.number() == kFunctionDefaultsField &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      found.push_back(field.length_delimited());
    }
  }
  return found;
}

/// Names for nodes without one: messages, reports and options name nodes.
template <typename Nodes>
std::vector<std::string> node_names(const Nodes& protos) {
  std::unordered_set<std::string> taken;
  for (const auto& proto : protos) taken.insert(proto.name());
  std::vector<std::string> names;
  for (const auto& proto : protos) {
    std::string name = proto.name();
    for (size_t i = names.size(); name.empty(); ++i) {
      const std::string fresh = proto.op_type() + "_" + std::to_string(i);
      if (taken.insert(fresh).second) name = fresh;
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::string canonical_domain(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

ValueId GraphReader::define(Scope& scope, const std::string& name, const std::string& what) {
  if (name.empty()) throw UserError(what + " defines a value without a name");
  Value value;
  value.name = name;
  const ValueId id = scope.graph.add_value(std::move(value));
  if (!scope.names.emplace(name, id).second) {
    throw UserError(what + " defines the value '" + name + "', which is defined before");
  }
  return id;
}

ValueId GraphReader::resolve(Scope& scope, const std::string& name) {
  const auto found = scope.names.find(name);
  if (found != scope.names.end()) return found->second;
  if (!scope.outer) return kNoValue;
  const ValueId outer = resolve(*scope.outer, name);
  if (outer == kNoValue) return kNoValue;
  const Value& source = scope.outer->graph.value(outer);
  Value value;
  value.name = name;
  value.type = source.type;
  value.shape = source.shape;
  value.opaque_type = source.opaque_type;
  value.captured = true;
  const ValueId id = scope.graph.add_value(std::move(value));
  scope.names.emplace(name, id);
  return id;
}

Graph GraphReader::read_graph(onnx::GraphProto& proto) { return read_subgraph(proto, nullptr); }

Graph GraphReader::read_subgraph(onnx::GraphProto& proto, Scope* outer) {
  Scope scope;
  scope.outer = outer;
  scope.graph.name = proto.name();
  scope.graph.documentation = proto.doc_string();
  read_inputs(proto, scope);
  read_initializers(proto, scope);
  for (const auto& node : proto.node()) {
    for (const std::string& name : node.output()) {
      if (!name.empty()) define(scope, name, "node " + node.op_type() + " '" + node.name() + "'");
    }
  }
  for (const auto* declarations : {&proto.value_info(), &proto.output()}) {
    for (const auto& declaration : *declarations) {
      const auto found = scope.names.find(declaration.name());
      if (found == scope.names.end()) continue;
      read_declaration(declaration, scope.graph.value(found->second));
    }
  }
  read_nodes(*proto.mutable_node(), scope);
  for (const auto& output : proto.output()) {
    const ValueId id = resolve(scope, output.name());
    if (id == kNoValue) {
      throw UserError("graph '" + proto.name() + "' has the output '" + output.name() +
                      "', which no node makes");
    }
    scope.graph.outputs.push_back(id);
  }
  scope.graph.sort();
  return std::move(scope.graph);
}

void GraphReader::read_inputs(const onnx::GraphProto& proto, Scope& scope) {
  std::unordered_set<std::string> constants;
  for (const auto& tensor : proto.initializer()) constants.insert(tensor.name());
  for (const auto& input : proto.input()) {
    if (constants.count(input.name())) continue;  // a weight listed as input, as IR version 3 does
    if (input.name().empty()) throw UserError("graph '" + proto.name() + "' has an unnamed input");
    const ValueId id = define(scope, input.name(), "the list of inputs");
    read_declaration(input, scope.graph.value(id));
    scope.graph.inputs.push_back(id);
  }
}

void GraphReader::read_initializers(onnx::GraphProto& proto, Scope& scope) {
  if (proto.sparse_initializer_size()) {
    throw Unsupported("sparse tensor '" + proto.sparse_initializer(0).values().name() +
                      "': sparse weights are not supported; export them as dense ones");
  }
  for (auto& tensor : *proto.mutable_initializer()) {
    const std::string what = "tensor '" + tensor.name() + "'";
    Value& value = scope.graph.value(define(scope, tensor.name(), "the list of weights"));
    if (known_type(tensor)) {
      value.constant = tensors_.read(tensor, what);
      value.type = value.constant->type();
    } else {
      tensors_.embed(tensor, what);
      value.opaque_type = serialized_type(tensor);
      value.opaque_constant = std::make_shared<const std::string>(tensor.SerializeAsString());
    }
    const Shape shape = shape_from_proto(tensor, what);
    value.shape = graph::SymbolicShape(shape.begin(), shape.end());
    tensor.clear_raw_data();
    tensor.clear_float_data();
  }
}

template <typename Nodes>
void GraphReader::read_nodes(Nodes& protos, Scope& scope) {
  const std::vector<std::string> names = node_names(protos);
  for (int i = 0; i < protos.size(); ++i) {
    scope.graph.nodes.push_back(
        read_node(*protos.Mutable(i), names[static_cast<size_t>(i)], scope));
  }
}

Node GraphReader::read_node(onnx::NodeProto& proto, const std::string& name, Scope& scope) {
  Node node;
  node.name = name;
  node.domain = canonical_domain(proto.domain());
  node.type = proto.op_type();
  node.documentation = proto.doc_string();
  if (node.type.empty()) throw UserError("node '" + name + "' names no operator");
  const std::string what = "node " + describe(node);
  for (const std::string& input : proto.input()) {
    const ValueId id = input.empty() ? kNoValue : resolve(scope, input);
    if (id == kNoValue && !input.empty()) {
      throw UserError(what + " reads '" + input + "', which nothing makes");
    }
    node.inputs.push_back(id);
  }
  for (const std::string& output : proto.output()) {
    node.outputs.push_back(output.empty() ? kNoValue : scope.names.at(output));
  }
  for (auto& attribute : *proto.mutable_attribute()) {
    const std::string label = what + ", attribute '" + attribute.name() + "'";
    if (node.has(attribute.name())) throw UserError(label + " is given twice");
    node.attributes.emplace(attribute.name(), read_attribute(attribute, label, scope));
  }
  return node;
}

Attribute GraphReader::read_attribute(AttributeProto& proto, const std::string& what,
                                      Scope& scope) {
  if (!proto.ref_attr_name().empty()) {
    return graph::AttributeReference{proto.ref_attr_name(), proto.type()};
  }
  switch (type_of(proto)) {
    case AttributeProto::FLOAT:
      return proto.f();
    case AttributeProto::INT:
      return int64_t{proto.i()};
    case AttributeProto::STRING:
      return proto.s();
    case AttributeProto::TENSOR:
      if (!known_type(proto.t())) break;
      return tensors_.read(proto.t(), what);
    case AttributeProto::GRAPH:
      return std::make_shared<Graph>(read_subgraph(*proto.mutable_g(), &scope));
    case AttributeProto::FLOATS:
      return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case AttributeProto::INTS:
      return std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
    case AttributeProto::STRINGS:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case AttributeProto::TENSORS: {
      std::vector<Tensor> tensors;
      for (const auto& tensor : proto.tensors()) tensors.push_back(tensors_.read(tensor, what));
      return tensors;
    }
    case AttributeProto::GRAPHS: {
      std::vector<std::shared_ptr<Graph>> graphs;
      for (auto& graph : *proto.mutable_graphs()) {
        graphs.push_back(std::make_shared<Graph>(read_subgraph(graph, &scope)));
      }
      return graphs;
    }
    default:
      break;
  }
  if (proto.has_t()) tensors_.embed(*proto.mutable_t(), what);
  return graph::OpaqueAttribute{proto.SerializeAsString()};
}

graph::Function GraphReader::read_function(onnx::FunctionProto& proto) {
  graph::Function function;
  function.domain = canonical_domain(proto.domain());
  function.name = proto.name();
  function.documentation = proto.doc_string();
  function.attributes.assign(proto.attribute().begin(), proto.attribute().end());
  for (const auto& opset : proto.opset_import()) {
    function.opsets[canonical_domain(opset.domain())] = opset.version();
  }
  const std::string what = "function '" + function.name + "'";
  Scope scope;
  scope.graph.name = function.name;
  for (const std::string& name : proto.input()) {
    scope.graph.inputs.push_back(define(scope, name, what));
  }
  for (const auto& node : proto.node()) {
    for (const std::string& name : node.output()) {
      if (!name.empty()) define(scope, name, what);
    }
  }
  for (const std::string& bytes : default_attributes(proto)) {
    AttributeProto attribute;
    if (!attribute.ParseFromString(bytes)) throw UserError(what + " has a damaged default");
    function.defaults.emplace(attribute.name(), read_attribute(attribute, what, scope));
  }
  try {
    read_nodes(*proto.mutable_node(), scope);
    scope.graph.sort();
  } catch (const UserError& error) {
    throw UserError(what + ": " + error.what());
  }
  for (const std::string& name : proto.output()) {
    const ValueId id = resolve(scope, name);
    if (id == kNoValue) throw UserError(what + " has the output '" + name + "', made by no node");
    scope.graph.outputs.push_back(id);
  }
  function.body = std::move(scope.graph);
  return function;
}

}  // namespace opsmith::importer
