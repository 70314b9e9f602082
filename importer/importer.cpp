#include "importer/importer.h"

#include <onnx/onnx_pb.h>

#include <limits>
#include <string_view>

#include "graph/function.h"
#include "importer/graph_reader.h"
#include "support/error.h"
#include "support/log.h"

namespace opsmith::importer {
namespace {

constexpr int64_t kNewestOpset = 22;
constexpr int64_t kFirstIrVersionWithOpsets = 3;

/// What a file that is no ONNX may be instead, from its first bytes.
std::string guess(std::string_view bytes) {
  if (bytes.starts_with("PK")) {
    return "; it looks like a zip archive, perhaps a PyTorch checkpoint: export it to ONNX first";
  }
  if (bytes.starts_with("version https://git-lfs")) {
    return "; it is a Git LFS pointer: fetch the file itself with git lfs pull";
  }
  if (bytes.substr(4).starts_with("ORTM")) return "; it is an ORT format file, not ONNX";
  if (bytes.substr(4).starts_with("TFL3")) return "; it is a TensorFlow Lite file";
  return "; it is damaged, truncated or another kind of file";
}

onnx::ModelProto parse(std::string_view bytes) {
  if (bytes.empty()) throw UserError("the file is empty");
  if (bytes.size() > size_t{std::numeric_limits<int32_t>::max()}) {
    throw UserError("the file is larger than 2 GB; save its weights as external data");
  }
  onnx::ModelProto proto;
  const bool parsed = proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!parsed || !proto.has_graph()) {
    throw UserError("not an ONNX model" + (bytes.size() > 8 ? guess(bytes) : guess("        ")));
  }
  if (proto.opset_import_size() == 0 && proto.ir_version() >= kFirstIrVersionWithOpsets) {
    throw UserError("names no operator set version; the file is truncated or damaged");
  }
  return proto;
}

void read_opsets(const onnx::ModelProto& proto, graph::Model& model) {
  for (const auto& opset : proto.opset_import()) {
    const std::string domain = canonical_domain(opset.domain());
    if (domain.empty() && opset.version() < 1) {
      throw UserError("names the operator set version " + std::to_string(opset.version()) +
                      ", which does not exist");
    }
    model.opsets[domain] = opset.version();
  }
  if (model.opset() > kNewestOpset) {
    log_warning(model.source + ": operator set " + std::to_string(model.opset()) +
                " is newer than " + std::to_string(kNewestOpset) +
                "; operators are taken to mean what they meant there");
  }
}

/// Says what files may leave unsaid: operator set 1 in those of IR version 2, the versions of the
/// domains of functions, and that bodies mean the operators that the model means.
void state_opsets(graph::Model& model) {
  if (model.opsets.empty()) model.opsets[""] = model.opset();
  for (graph::Function& function : model.functions) {
    model.opsets.emplace(function.domain, 1);
    if (function.opsets.empty()) function.opsets[""] = model.opset();
  }
}

graph::Model read(onnx::ModelProto proto, const std::string& source) {
  graph::Model model;
  model.source = source;
  model.ir_version = proto.ir_version();
  model.producer = proto.producer_name();
  model.producer_version = proto.producer_version();
  model.documentation = proto.doc_string();
  for (const auto& entry : proto.metadata_props()) model.metadata[entry.key()] = entry.value();
  read_opsets(proto, model);

  TensorReader tensors(source);
  GraphReader reader(tensors);
  model.graph = reader.read_graph(*proto.mutable_graph());
  for (auto& function : *proto.mutable_functions()) {
    model.functions.push_back(reader.read_function(function));
    const graph::Function& last = model.functions.back();
    if (model.find_function(last.domain, last.name) != &last) {
      throw UserError("function '" + last.name + "' is defined twice");
    }
  }
  state_opsets(model);
  check_no_recursion(model);
  return model;
}

/// Runs `work`; its errors name the source.
template <typename Work>
graph::Model naming(const std::string& source, const Work& work) {
  try {
    return work();
  } catch (const UserError& error) {
    throw UserError(source + ": " + error.what());
  } catch (const Unsupported& error) {
    throw Unsupported(source + ": " + error.what());
  }
}

}  // namespace

graph::Model import_model(const std::string& path) {
  // The file is unmapped once it is parsed: its weights would be in memory twice.
  return naming(path, [&] { return read(parse(MappedFile::open(path)->bytes()), path); });
}

graph::Model import_model(std::string_view bytes, const std::string& source) {
  return naming(source, [&] { return read(parse(bytes), source); });
}

}  // namespace opsmith::importer
