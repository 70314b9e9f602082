#include "exporter/exporter.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>

#include "exporter/graph_writer.h"
#include "graph/function.h"
#include "support/error.h"
#include "support/file.h"

namespace opsmith::exporter {
namespace {

/// From this version on weights need not be listed as inputs.
constexpr int64_t kIrWithSeparateWeights = 4;
constexpr int64_t kIrWithFunctions = 8;
constexpr int64_t kIrWithFunctionDefaults = 9;

int64_t ir_version(const graph::Model& model) {
  int64_t version = std::max(model.ir_version, kIrWithSeparateWeights);
  for (const graph::Function& function : model.functions) {
    version =
        std::max(version, function.defaults.empty() ? kIrWithFunctions : kIrWithFunctionDefaults);
  }
  return version;
}

void write_model(const graph::Model& model, TensorWriter& tensors, onnx::ModelProto& proto) {
  proto.set_ir_version(ir_version(model));
  proto.set_producer_name(model.producer);
  proto.set_producer_version(model.producer_version);
  if (!model.documentation.empty()) proto.set_doc_string(model.documentation);
  for (const auto& [key, value] : model.metadata) {
    auto* entry = proto.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  std::map<std::string, int64_t> opsets = model.opsets;
  if (opsets.empty()) opsets[""] = model.opset();
  for (const graph::Function& function : model.functions) opsets.emplace(function.domain, 1);
  for (const auto& [domain, version] : opsets) {
    auto* opset = proto.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  GraphWriter writer(tensors);
  writer.write_graph(model.graph, *proto.mutable_graph());
  for (const graph::Function& function : model.functions) {
    writer.write_function(function, *proto.add_functions());
    if (function.opsets.empty()) {
      auto* opset = proto.mutable_functions()->rbegin()->add_opset_import();
      opset->set_domain("");
      opset->set_version(model.opset());
    }
  }
}

int64_t weight_bytes(const graph::Graph& graph) {
  int64_t bytes = 0;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const graph::Value& value = graph.value(static_cast<graph::ValueId>(i));
    if (value.constant) bytes += static_cast<int64_t>(value.constant->bytes());
    if (value.opaque_constant) bytes += static_cast<int64_t>(value.opaque_constant->size());
  }
  for (const graph::Node& node : graph.nodes) {
    for (const auto& [name, attribute] : node.attributes) {
      if (const auto* tensor = std::get_if<Tensor>(&attribute)) {
        bytes += static_cast<int64_t>(tensor->bytes());
      }
    }
    for_each_subgraph(node, [&](const graph::Graph& body) { bytes += weight_bytes(body); });
  }
  return bytes;
}

std::string serialize(const onnx::ModelProto& proto) {
  std::string bytes;
  if (proto.ByteSizeLong() > size_t{std::numeric_limits<int32_t>::max()} ||
      !proto.SerializeToString(&bytes)) {
    throw UserError("the model is larger than 2 GB, more than one ONNX message can hold");
  }
  return bytes;
}

std::string serialize(const graph::Model& model, TensorWriter& tensors,
                      const ExportOptions& options) {
  onnx::ModelProto proto;
  if (options.inline_functions && !model.functions.empty()) {
    graph::Model plain = model;
    inline_functions(plain);
    write_model(plain, tensors, proto);
  } else {
    write_model(model, tensors, proto);
  }
  return serialize(proto);
}

}  // namespace

std::string serialize_model(const graph::Model& model, const ExportOptions& options) {
  TensorWriter tensors;
  if (weight_bytes(model.graph) > std::numeric_limits<int32_t>::max()) {
    throw UserError("the model is larger than 2 GB, more than one ONNX message can hold");
  }
  return serialize(model, tensors, options);
}

void export_model(const graph::Model& model, const std::string& path,
                  const ExportOptions& options) {
  FileWriter file(path);
  if (weight_bytes(model.graph) <= options.external_data_above) {
    TensorWriter tensors;
    file.write(serialize(model, tensors, options));
    file.commit();
    return;
  }
  FileWriter data(path + ".data");
  TensorWriter tensors(&data, std::filesystem::path(path).filename().string() + ".data");
  file.write(serialize(model, tensors, options));
  data.commit();
  file.commit();
}

}  // namespace opsmith::exporter
