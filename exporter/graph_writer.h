#pragma once

#include <string>

#include "exporter/tensor_writer.h"
#include "graph/graph.h"

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace opsmith::exporter {

/// Writes graphs, their subgraphs and functions into messages.
class GraphWriter {
 public:
  explicit GraphWriter(TensorWriter& tensors) : tensors_(tensors) {}

  void write_graph(const graph::Graph& graph, onnx::GraphProto& proto);
  /// Constants of the body become Constant nodes: functions have no weights of their own.
  void write_function(const graph::Function& function, onnx::FunctionProto& proto);

 private:
  void write_node(const graph::Graph& graph, const graph::Node& node, onnx::NodeProto& proto);
  void write_attribute(const std::string& name, const graph::Attribute& attribute,
                       onnx::AttributeProto& proto);

  TensorWriter& tensors_;
};

}  // namespace opsmith::exporter
