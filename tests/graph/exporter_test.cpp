#include "exporter/exporter.h"

#include "graph/comparison.h"
#include "graph/function.h"
#include "tests/graph/onnx_files.h"

namespace opsmith::exporter {
namespace {

using namespace opsmith::testing;  // NOLINT: builders of files
using graph::Model;
using graph::ValueId;

Model reimport(const Model& model, const ExportOptions& options = {}) {
  const TemporaryFolder folder;
  export_model(model, folder.file("again.onnx"), options);
  return importer::import_model(folder.file("again.onnx"));
}

ValueId add_input(graph::Graph& graph, const std::string& name, graph::SymbolicShape shape) {
  graph::Value value;
  value.name = name;
  value.type = ElementType::Float32;
  value.shape = std::move(shape);
  graph.inputs.push_back(graph.add_value(std::move(value)));
  return graph.inputs.back();
}

/// x -> opsmith.scale(x) -> y, where scale multiplies by two and applies Softmax over the
/// attribute `axis` of the call.
Model function_model() {
  Model model;
  model.opsets = {{"", 13}};
  model.ir_version = 4;
  const ValueId x =
      add_input(model.graph, "x", {graph::Dimension::named("N"), graph::Dimension(4)});
  const ValueId y = model.graph.add_node(
      "scale", {x}, {{"axis", int64_t{0}}, {"program", std::string("text")}}, 1, "opsmith", "call");
  model.graph.value(y).name = "y";
  model.graph.outputs = {y};
  graph::Function function;
  function.domain = "opsmith";
  function.name = "scale";
  function.attributes = {"axis", "program"};
  function.documentation = "softmax(2 x)";
  graph::Graph& body = function.body;
  const ValueId in = add_input(body, "in", {});
  body.value(in).type = ElementType::Undefined;
  body.value(in).shape = std::nullopt;
  const ValueId two = body.add_constant("two", Tensor::scalar(2.0f));
  const ValueId product = body.add_node("Mul", {in, two}, {}, 1, "", "mul");
  const ValueId out = body.add_node(
      "Softmax", {product}, {{"axis", graph::AttributeReference{"axis", 2}}}, 1, "", "soft");
  body.outputs = {out};
  model.functions.push_back(std::move(function));
  return model;
}

TEST(Exporter, UnknownOperatorsAndTypesComeBackUntouched) {
  onnx::ModelProto proto = add_model();
  auto* node = add_node(proto.mutable_graph(), "Mystery", {"y", "", "c"}, {"z", "", "u"});
  node->set_domain("some.vendor");
  auto* opset = proto.add_opset_import();
  opset->set_domain("some.vendor");
  opset->set_version(3);
  auto* attribute = node->add_attribute();
  attribute->set_name("type");
  attribute->set_type(onnx::AttributeProto::TYPE_PROTO);
  attribute->mutable_tp()->mutable_sequence_type();
  auto* tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name("c");
  tensor->set_data_type(onnx::TensorProto::COMPLEX64);
  tensor->add_dims(1);
  tensor->set_raw_data("12345678");
  auto* sequence = proto.mutable_graph()->add_output();
  sequence->set_name("z");
  sequence->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type();
  const Model model = import_proto(proto);
  EXPECT_EQ(difference(model, reimport(model)), "");
}

TEST(Exporter, DifferencesAreSeen) {
  const Model model = import_proto(add_model());
  Model other = model;
  other.graph.nodes[0].attributes["axis"] = int64_t{1};
  EXPECT_NE(difference(model, other), "");
  other = model;
  other.graph.value(*other.graph.find("w")).constant = Tensor::of<float>({2}, {1, 3});
  EXPECT_NE(difference(model, other), "");
  other = model;
  other.graph.value(other.graph.outputs[0]).name = "renamed";
  EXPECT_NE(difference(model, other), "");
}

TEST(Exporter, LargeWeightsGoBesideAndSharedOnesOnce) {
  Model model = import_proto(add_model());
  const Tensor large = Tensor::zeros(ElementType::Float32, {2, 512});
  const ValueId a = model.graph.add_constant("a", large);
  const ValueId b = model.graph.add_constant("b", large);
  model.graph.outputs.push_back(model.graph.add_node("Add", {a, b}, {}, 1, "", "sum"));
  ExportOptions options;
  options.external_data_above = 100;
  const TemporaryFolder folder;
  export_model(model, folder.file("m.onnx"), options);
  EXPECT_EQ(std::filesystem::file_size(folder.file("m.onnx.data")), 4096u);
  EXPECT_EQ(difference(model, importer::import_model(folder.file("m.onnx"))), "");
  export_model(model, folder.file("m.onnx"), options);  // over itself
  EXPECT_EQ(difference(model, importer::import_model(folder.file("m.onnx"))), "");
}

TEST(Exporter, FailureLeavesNothingBehind) {
  const Model model = import_proto(add_model());
  const TemporaryFolder folder;
  EXPECT_THROW(export_model(model, folder.file("absent/m.onnx")), UserError);
  std::filesystem::create_directories(folder.file("taken"));
  EXPECT_THROW(export_model(model, folder.file("taken")), UserError);
  for (const auto& entry : std::filesystem::directory_iterator(folder.file(""))) {
    EXPECT_EQ(entry.path().filename(), "taken");
  }
}

TEST(Exporter, FunctionsKeepTheirMeaning) {
  const Model model = function_model();
  const Model again = reimport(model);
  EXPECT_EQ(again.ir_version, 8);
  EXPECT_EQ(again.opsets.at("opsmith"), 1);
  const graph::Function* function = again.find_function("opsmith", "scale");
  ASSERT_TRUE(function);
  EXPECT_EQ(function->documentation, "softmax(2 x)");
  EXPECT_EQ(function->opsets.at(""), 13);
  ASSERT_EQ(function->body.nodes.size(), 3u);  // the constant became a node
  EXPECT_EQ(function->body.nodes[0].type, "Constant");
  EXPECT_EQ(again.graph.nodes[0].text("program", ""), "text");
  EXPECT_EQ(difference(again, reimport(again)), "");
}

TEST(Exporter, DefaultsOfFunctionsComeBack) {
  Model model = reimport(function_model());
  model.functions[0].defaults["axis"] = int64_t{1};
  const Model again = reimport(model);
  EXPECT_EQ(again.ir_version, 9);
  EXPECT_EQ(difference(again, model), "");
}

TEST(Exporter, InlinedFunctionsArePlainNodes) {
  ExportOptions options;
  options.inline_functions = true;
  Model model = function_model();
  const ValueId second = model.graph.add_node("scale", {model.graph.inputs[0]}, {}, 1, "opsmith");
  model.graph.outputs.push_back(second);
  model.functions[0].defaults["axis"] = int64_t{1};
  const Model plain = reimport(model, options);
  EXPECT_TRUE(plain.functions.empty());
  EXPECT_FALSE(plain.opsets.count("opsmith"));
  ASSERT_EQ(plain.graph.nodes.size(), 4u);
  EXPECT_EQ(plain.graph.nodes[0].type, "Mul");
  EXPECT_EQ(plain.graph.nodes[1].integer("axis", -1), 0);
  EXPECT_EQ(plain.graph.nodes[3].integer("axis", -1), 1);
  EXPECT_FALSE(plain.graph.nodes[1].has("program"));
  EXPECT_EQ(plain.graph.value(plain.graph.outputs[0]).name, "y");
}

}  // namespace
}  // namespace opsmith::exporter
