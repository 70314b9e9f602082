#pragma once

#include <string>
#include <unordered_map>

#include "graph/graph.h"
#include "importer/tensor_reader.h"

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class NodeProto;
class ValueInfoProto;
}  // namespace onnx

namespace opsmith::importer {

/// "ai.onnx" is another name of ONNX's own domain "".
std::string canonical_domain(const std::string& domain);

/// Reads graphs, their subgraphs and functions of one model. Element bytes are taken out of the
/// messages as they are read, so that no weight is in memory twice. Throws UserError naming the
/// node or value at fault.
class GraphReader {
 public:
  explicit GraphReader(TensorReader& tensors) : tensors_(tensors) {}

  graph::Graph read_graph(onnx::GraphProto& proto);
  graph::Function read_function(onnx::FunctionProto& proto);

 private:
  /// A graph being read and what its names mean.
  struct Scope {
    graph::Graph graph;
    std::unordered_map<std::string, graph::ValueId> names;
    Scope* outer = nullptr;
  };

  graph::ValueId define(Scope& scope, const std::string& name, const std::string& what);
  /// The value of that name, captured from an outer graph if need be; kNoValue if there is none.
  graph::ValueId resolve(Scope& scope, const std::string& name);

  graph::Graph read_subgraph(onnx::GraphProto& proto, Scope* outer);
  void read_initializers(onnx::GraphProto& proto, Scope& scope);
  void read_inputs(const onnx::GraphProto& proto, Scope& scope);
  template <typename Nodes>
  void read_nodes(Nodes& protos, Scope& scope);
  graph::Node read_node(onnx::NodeProto& proto, const std::string& name, Scope& scope);
  graph::Attribute read_attribute(onnx::AttributeProto& proto, const std::string& what,
                                  Scope& scope);

  TensorReader& tensors_;
};

/// Fills type and shape of a value from its declaration; what is declared twice must agree.
void read_declaration(const onnx::ValueInfoProto& proto, graph::Value& value);

}  // namespace opsmith::importer
