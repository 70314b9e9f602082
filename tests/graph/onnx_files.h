#pragma once

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "importer/importer.h"
#include "support/error.h"
#include "support/file.h"

namespace opsmith::testing {

/// A folder of its own for each test, removed afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            ("opsmith-" + std::string(test->test_suite_name()) + "-" + test->name() + "-" +
             std::to_string(::getpid()));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline onnx::ValueInfoProto* declare(onnx::ValueInfoProto* info, const std::string& name,
                                     const std::vector<int64_t>& shape) {
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::TensorProto::FLOAT);
  tensor->mutable_shape();
  for (const int64_t size : shape) tensor->mutable_shape()->add_dim()->set_dim_value(size);
  return info;
}

inline onnx::NodeProto* add_node(onnx::GraphProto* graph, const std::string& type,
                                 const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs) {
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(type);
  node->set_name(type + "-" + (outputs.empty() ? "" : outputs[0]));
  for (const std::string& name : inputs) node->add_input(name);
  for (const std::string& name : outputs) node->add_output(name);
  return node;
}

inline onnx::TensorProto* add_floats(onnx::GraphProto* graph, const std::string& name,
                                     const std::vector<int64_t>& shape,
                                     const std::vector<float>& values) {
  onnx::TensorProto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t size : shape) tensor->add_dims(size);
  for (const float value : values) tensor->add_float_data(value);
  return tensor;
}

/// x [2, 2] -> Add(x, w) -> y, with w an initializer.
inline onnx::ModelProto add_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto* graph = model.mutable_graph();
  graph->set_name("test");
  declare(graph->add_input(), "x", {2, 2});
  declare(graph->add_output(), "y", {2, 2});
  add_floats(graph, "w", {2}, {1, 2});
  add_node(graph, "Add", {"x", "w"}, {"y"});
  return model;
}

inline std::string save(const TemporaryFolder& folder, const onnx::ModelProto& model) {
  const std::string path = folder.file("model.onnx");
  write_file(path, model.SerializeAsString());
  return path;
}

inline graph::Model import_proto(const onnx::ModelProto& model) {
  const TemporaryFolder folder;
  return importer::import_model(save(folder, model));
}

/// The message of the UserError that importing the model ends in; empty when it is accepted.
inline std::string refusal(const onnx::ModelProto& model) {
  try {
    import_proto(model);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

/// Every model.onnx of ONNX's conformance data, where it is installed.
inline std::vector<std::string> conformance_models() {
  std::vector<std::string> paths;
  const std::filesystem::path root = "/usr/share/libonnx-testdata/data";
  if (!std::filesystem::exists(root)) return paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().filename() == "model.onnx") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Further models to check with, from the folder that OPSMITH_MODELS_DIR names.
inline std::vector<std::string> further_models() {
  std::vector<std::string> paths;
  const char* root = std::getenv("OPSMITH_MODELS_DIR");
  if (!root) return paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace opsmith::testing
