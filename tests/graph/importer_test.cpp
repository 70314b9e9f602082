#include "importer/importer.h"

#include <cstring>

#include "tests/graph/onnx_files.h"

namespace opsmith::importer {
namespace {

using namespace opsmith::testing;  // NOLINT: builders of files
using graph::kNoValue;

TEST(Importer, ReadsNodesWeightsAndDeclarations) {
  onnx::ModelProto proto = add_model();
  proto.set_producer_name("maker");
  proto.set_doc_string("what it is");
  auto* entry = proto.add_metadata_props();
  entry->set_key("k");
  entry->set_value("v");
  auto* shape = proto.mutable_graph()
                    ->mutable_input(0)
                    ->mutable_type()
                    ->mutable_tensor_type()
                    ->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("N");
  const graph::Model model = import_proto(proto);
  EXPECT_EQ(model.opset(), 17);
  EXPECT_EQ(model.producer, "maker");
  EXPECT_EQ(model.documentation, "what it is");
  EXPECT_EQ(model.metadata.at("k"), "v");
  ASSERT_EQ(model.graph.nodes.size(), 1u);
  EXPECT_EQ(model.graph.nodes[0].name, "Add-y");
  const graph::Value& x = model.graph.value(model.graph.inputs[0]);
  EXPECT_EQ(to_string(*x.shape), "[N, 2]");
  EXPECT_EQ(x.type, ElementType::Float32);
  const Tensor* w = model.graph.constant(model.graph.nodes[0].input(1));
  ASSERT_TRUE(w);
  EXPECT_EQ(w->data<float>()[1], 2.0f);
}

TEST(Importer, WeightsListedAsInputsAreNoInputs) {
  onnx::ModelProto proto = add_model();
  declare(proto.mutable_graph()->add_input(), "w", {2});
  proto.set_ir_version(3);
  const graph::Model model = import_proto(proto);
  EXPECT_EQ(model.graph.inputs.size(), 1u);
  EXPECT_TRUE(model.graph.constant(*model.graph.find("w")));
}

TEST(Importer, NodesOutOfOrderAreSorted) {
  onnx::ModelProto proto = add_model();
  proto.mutable_graph()->mutable_node(0)->set_output(0, "middle");
  add_node(proto.mutable_graph(), "Relu", {"middle"}, {"y"});
  proto.mutable_graph()->mutable_node()->SwapElements(0, 1);
  const graph::Model model = import_proto(proto);
  EXPECT_EQ(model.graph.nodes[0].type, "Add");
  EXPECT_EQ(model.graph.nodes[1].type, "Relu");
}

TEST(Importer, AbsentInputsAndNodesWithoutNames) {
  onnx::ModelProto proto = add_model();
  auto* clip = add_node(proto.mutable_graph(), "Clip", {"y", "", "w"}, {"z"});
  clip->clear_name();
  const graph::Model model = import_proto(proto);
  EXPECT_EQ(model.graph.nodes[1].input(1), kNoValue);
  EXPECT_NE(model.graph.nodes[1].input(2), kNoValue);
  EXPECT_FALSE(model.graph.nodes[1].name.empty());
}

TEST(Importer, EveryKindOfAttribute) {
  onnx::ModelProto proto = add_model();
  auto* node = add_node(proto.mutable_graph(), "Unknown", {"x"}, {"z"});
  node->set_domain("some.vendor");
  const auto add = [&](const std::string& name, onnx::AttributeProto::AttributeType type) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return attribute;
  };
  add("i", onnx::AttributeProto::INT)->set_i(-3);
  add("f", onnx::AttributeProto::FLOAT)->set_f(0.5f);
  add("s", onnx::AttributeProto::STRING)->set_s("text");
  add("is", onnx::AttributeProto::INTS);
  add("fs", onnx::AttributeProto::FLOATS)->add_floats(1.5f);
  add("ss", onnx::AttributeProto::STRINGS)->add_strings("a");
  auto* tensor = add("t", onnx::AttributeProto::TENSOR)->mutable_t();
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_int64_data(9);
  add("tp", onnx::AttributeProto::TYPE_PROTO)->mutable_tp()->mutable_tensor_type();
  auto* untyped = node->add_attribute();
  untyped->set_name("old");
  untyped->add_ints(4);
  const graph::Model model = import_proto(proto);
  const graph::Node& read = model.graph.nodes[1];
  EXPECT_EQ(read.domain, "some.vendor");
  EXPECT_EQ(read.integer("i", 0), -3);
  EXPECT_EQ(read.real("f", 0), 0.5f);
  EXPECT_EQ(read.text("s", ""), "text");
  EXPECT_EQ(read.integers("is", {1}), std::vector<int64_t>{});
  EXPECT_EQ(read.integers("old"), std::vector<int64_t>{4});
  ASSERT_TRUE(read.tensor("t"));
  EXPECT_EQ(read.tensor("t")->rank(), 0);
  EXPECT_EQ(read.tensor("t")->data<int64_t>()[0], 9);
  EXPECT_TRUE(std::holds_alternative<graph::OpaqueAttribute>(read.attributes.at("tp")));
}

TEST(Importer, SubgraphsCaptureThroughSeveralLevels) {
  onnx::ModelProto proto = add_model();
  auto* outer = add_node(proto.mutable_graph(), "If", {"w"}, {"z"});
  auto* outer_branch = outer->add_attribute();
  outer_branch->set_name("then_branch");
  outer_branch->set_type(onnx::AttributeProto::GRAPH);
  auto* inner = add_node(outer_branch->mutable_g(), "If", {"w"}, {"a"});
  outer_branch->mutable_g()->add_output()->set_name("a");
  auto* inner_branch = inner->add_attribute();
  inner_branch->set_name("then_branch");
  inner_branch->set_type(onnx::AttributeProto::GRAPH);
  add_node(inner_branch->mutable_g(), "Relu", {"y"}, {"b"});
  inner_branch->mutable_g()->add_output()->set_name("b");
  const graph::Model model = import_proto(proto);
  const auto y = static_cast<size_t>(*model.graph.find("y"));
  EXPECT_EQ(model.graph.consumers()[y], std::vector<int32_t>{1});
  for_each_subgraph(model.graph.nodes[1], [](const graph::Graph& body) {
    EXPECT_EQ(body.captures(), (std::vector<std::string>{"w", "y"}));
    EXPECT_TRUE(body.value(*body.find("y")).captured);
    EXPECT_EQ(body.value(*body.find("y")).type, ElementType::Float32);
  });
}

TEST(Importer, FunctionsWithReferencesAndDefaults) {
  onnx::ModelProto proto = add_model();
  proto.mutable_graph()->mutable_node(0)->set_op_type("f");
  proto.mutable_graph()->mutable_node(0)->set_domain("mine");
  auto* function = proto.add_functions();
  function->set_name("f");
  function->set_domain("mine");
  function->add_input("a");
  function->add_input("b");
  function->add_output("c");
  function->add_attribute("axis");
  function->add_opset_import()->set_version(17);
  auto* node = function->add_node();
  node->set_op_type("Softmax");
  node->add_input("a");
  node->add_output("c");
  auto* reference = node->add_attribute();
  reference->set_name("axis");
  reference->set_ref_attr_name("axis");
  reference->set_type(onnx::AttributeProto::INT);
  const graph::Model model = import_proto(proto);
  const graph::Function* read = model.find_function("mine", "f");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->attributes, std::vector<std::string>{"axis"});
  EXPECT_EQ(read->body.inputs.size(), 2u);
  EXPECT_EQ(read->body.value(read->body.outputs[0]).name, "c");
  const auto& attribute = read->body.nodes[0].attributes.at("axis");
  ASSERT_TRUE(std::holds_alternative<graph::AttributeReference>(attribute));
  EXPECT_EQ(std::get<graph::AttributeReference>(attribute).name, "axis");
}

TEST(Importer, WeightsOfUnknownTypesAreKept) {
  onnx::ModelProto proto = add_model();
  auto* tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name("complex");
  tensor->set_data_type(onnx::TensorProto::COMPLEX64);
  tensor->add_dims(1);
  tensor->set_raw_data("12345678");
  const graph::Model model = import_proto(proto);
  const graph::Value& value = model.graph.value(*model.graph.find("complex"));
  EXPECT_EQ(value.type, ElementType::Undefined);
  EXPECT_TRUE(value.opaque_constant);
}

/// Replaces weight "w" by one of four floats that lies in "w.bin" from byte `offset`.
onnx::ModelProto external_model(const std::string& location, int64_t offset, int64_t length) {
  onnx::ModelProto proto = add_model();
  auto* tensor = proto.mutable_graph()->mutable_initializer(0);
  tensor->clear_float_data();
  tensor->set_dims(0, 4);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const std::string& key, const std::string& value) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", location);
  add("offset", std::to_string(offset));
  add("length", std::to_string(length));
  return proto;
}

std::string refusal_at(const std::string& path) {
  try {
    import_model(path);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Importer, ExternalDataAlignedOrNot) {
  const TemporaryFolder folder;
  std::string bytes(4096 + 16, '\0');
  const float numbers[] = {1, 2, 3, 4};
  for (const int64_t offset : {0, 64, 3, 4096}) {
    std::memcpy(bytes.data() + offset, numbers, sizeof numbers);
    write_file(folder.file("w.bin"), bytes);
    const graph::Model model = import_model(save(folder, external_model("w.bin", offset, 16)));
    const Tensor* w = model.graph.constant(*model.graph.find("w"));
    ASSERT_TRUE(w);
    EXPECT_EQ(w->data<float>()[3], 4.0f) << offset;
  }
}

TEST(Importer, MissingExternalDataNamesFileAndTensor) {
  const std::string message = refusal(external_model("gone.bin", 0, 16));
  EXPECT_NE(message.find("gone.bin"), std::string::npos) << message;
  EXPECT_NE(message.find("tensor 'w'"), std::string::npos) << message;
  EXPECT_NE(message.find("beside the model"), std::string::npos) << message;
}

TEST(Importer, ExternalDataMustFit) {
  const TemporaryFolder folder;
  write_file(folder.file("w.bin"), std::string(20, 'x'));
  EXPECT_NE(refusal_at(save(folder, external_model("w.bin", 8, 16))), "");
  EXPECT_NE(refusal_at(save(folder, external_model("w.bin", 0, 12))), "");
  EXPECT_NE(refusal_at(save(folder, external_model("w.bin", int64_t{1} << 62, 16))), "");
  EXPECT_EQ(refusal_at(save(folder, external_model("w.bin", 4, 16))), "");
}

TEST(Importer, ExternalDataStaysInTheModelsFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("model"));
  write_file(folder.file("outside.bin"), std::string(16, 'x'));
  std::filesystem::create_symlink(folder.file("outside.bin"), folder.file("model/link.bin"));
  for (const std::string& location :
       {std::string("../outside.bin"), folder.file("outside.bin"), std::string("link.bin"),
        std::string("sub/../../outside.bin"), std::string("")}) {
    const std::string path = folder.file("model/model.onnx");
    write_file(path, external_model(location, 0, 16).SerializeAsString());
    EXPECT_NE(refusal_at(path).find("outside the folder"), std::string::npos) << location;
  }
}

TEST(Importer, LinksOfADownloadCacheAreFollowed) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("blobs"));
  std::filesystem::create_directories(folder.file("snapshot"));
  write_file(folder.file("blobs/1"), external_model("w.bin", 0, 16).SerializeAsString());
  write_file(folder.file("blobs/2"), std::string(16, 'x'));
  std::filesystem::create_symlink("../blobs/1", folder.file("snapshot/model.onnx"));
  std::filesystem::create_symlink("../blobs/2", folder.file("snapshot/w.bin"));
  EXPECT_EQ(refusal_at(folder.file("snapshot/model.onnx")), "");
}

}  // namespace
}  // namespace opsmith::importer
