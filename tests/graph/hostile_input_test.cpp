#include <chrono>
#include <fstream>

#include "graph/passes/pass.h"
#include "graph/validate.h"
#include "importer/importer.h"
#include "support/random.h"
#include "tests/graph/onnx_files.h"

namespace opsmith::importer {
namespace {

using namespace opsmith::testing;  // NOLINT: builders of files

/// The message that importing these bytes ends in.
std::string refusal_of_bytes(const std::string& bytes) {
  const TemporaryFolder folder;
  write_file(folder.file("bad.onnx"), bytes);
  try {
    import_model(folder.file("bad.onnx"));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

void expect_mentions(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << "'" << word << "' is not in: " << message;
  }
}

TEST(HostileInput, FilesThatAreNoModels) {
  expect_mentions(refusal_of_bytes(""), {"bad.onnx", "empty"});
  expect_mentions(refusal_of_bytes("this is not a model at all"), {"bad.onnx", "not an ONNX"});
  expect_mentions(refusal_of_bytes("PK\x03\x04 and the rest of an archive"), {"zip"});
  expect_mentions(refusal_of_bytes("version https://git-lfs.github.com/spec/v1\n"), {"git lfs"});
  const TemporaryFolder folder;
  EXPECT_THROW(import_model(folder.file("absent.onnx")), UserError);
  EXPECT_THROW(import_model(folder.file("")), UserError);
}

TEST(HostileInput, EveryTruncationIsRefusedOrComplete) {
  const std::string bytes = add_model().SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(refusal_of_bytes(bytes.substr(0, size)), "") << "cut after " << size << " bytes";
  }
}

TEST(HostileInput, Cycle) {
  onnx::ModelProto model = add_model();
  add_node(model.mutable_graph(), "Add", {"x", "b"}, {"a"});
  add_node(model.mutable_graph(), "Relu", {"a"}, {"b"});
  expect_mentions(refusal(model), {"model.onnx", "cycle", "Add-a"});
}

TEST(HostileInput, DuplicateNames) {
  onnx::ModelProto model = add_model();
  add_node(model.mutable_graph(), "Relu", {"x"}, {"y"});
  expect_mentions(refusal(model), {"Relu-y", "'y'"});
  model = add_model();
  add_floats(model.mutable_graph(), "w", {2}, {1, 2});
  expect_mentions(refusal(model), {"'w'"});
  model = add_model();
  declare(model.mutable_graph()->add_input(), "x", {2, 2});
  expect_mentions(refusal(model), {"'x'"});
}

TEST(HostileInput, UndefinedInputsAndOutputs) {
  onnx::ModelProto model = add_model();
  add_node(model.mutable_graph(), "Relu", {"nowhere"}, {"z"});
  expect_mentions(refusal(model), {"Relu-z", "'nowhere'"});
  model = add_model();
  declare(model.mutable_graph()->add_output(), "unmade", {1});
  expect_mentions(refusal(model), {"'unmade'"});
}

TEST(HostileInput, TensorsThatDoNotFitTheirShapes) {
  onnx::ModelProto model = add_model();
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, 3);
  expect_mentions(refusal(model), {"tensor 'w'", "[3]"});
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, -2);
  expect_mentions(refusal(model), {"tensor 'w'", "negative"});
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, int64_t{1} << 62);
  expect_mentions(refusal(model), {"tensor 'w'"});
  model.mutable_graph()->mutable_initializer(0)->add_dims(int64_t{1} << 62);
  expect_mentions(refusal(model), {"tensor 'w'"});
}

TEST(HostileInput, NegativeDeclaredSizes) {
  onnx::ModelProto model = add_model();
  auto* dimension = model.mutable_graph()
                        ->mutable_input(0)
                        ->mutable_type()
                        ->mutable_tensor_type()
                        ->mutable_shape()
                        ->mutable_dim(0);
  dimension->set_dim_value(-1);
  EXPECT_EQ(refusal(model), "");
  dimension->set_dim_value(-7);
  expect_mentions(refusal(model), {"'x'", "-7"});
}

TEST(HostileInput, FunctionsThatCallThemselves) {
  onnx::ModelProto model = add_model();
  for (const auto& [name, calls] : {std::pair{"f", "g"}, std::pair{"g", "f"}}) {
    auto* function = model.add_functions();
    function->set_name(name);
    function->set_domain("mine");
    function->add_input("a");
    function->add_output("b");
    auto* node = function->add_node();
    node->set_op_type(calls);
    node->set_domain("mine");
    node->add_input("a");
    node->add_output("b");
  }
  expect_mentions(refusal(model), {"calls itself"});
}

TEST(HostileInput, DeepNestingIsRefusedNotOverflowed) {
  onnx::ModelProto model = add_model();
  onnx::GraphProto* graph = model.mutable_graph();
  for (int depth = 0; depth < 200; ++depth) {
    auto* attribute = add_node(graph, "If", {}, {})->add_attribute();
    attribute->set_name("then_branch");
    attribute->set_type(onnx::AttributeProto::GRAPH);
    graph = attribute->mutable_g();
  }
  expect_mentions(refusal(model), {"not an ONNX"});
}

/// Flips bits at random: import, shape inference and passes must answer with a model or an error
/// of ours, soon.
TEST(HostileInput, FlippedBits) {
  std::vector<std::string> sources = {add_model().SerializeAsString()};
  for (const std::string& path : conformance_models()) {
    for (const char* name :
         {"test_if/", "test_loop13_seq/",
          "test_layer_normalization_2d_axis0_"
          "expanded/",
          "test_constant/", "test_slice/", "test_maxpool_2d_ceil/", "test_resnet",
          "test_split_equal_parts_2d/", "test_resize_upsample_sizes_nearest/", "test_scan9_sum/",
          "test_Conv2d/", "test_ConvTranspose2d/", "test_operator_view/", "test_gelu",
          "test_range_float_type_positive_delta_expanded/"}) {
      if (path.find(name) != std::string::npos) sources.push_back(read_file(path));
    }
  }
  const TemporaryFolder folder;
  const std::string path = folder.file("flipped.onnx");
  Random random(7);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 3000 && std::chrono::steady_clock::now() < end; ++round) {
    std::string bytes = sources[static_cast<size_t>(round) % sources.size()];
    for (int64_t flips = random.integer(1, 4); flips > 0; --flips) {
      const auto at =
          static_cast<size_t>(random.integer(0, static_cast<int64_t>(bytes.size()) - 1));
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << random.integer(0, 7));
    }
    { std::ofstream(path, std::ios::binary) << bytes; }
    try {
      graph::Model model = import_model(path);
      ++accepted;
      simplify(model, {});
      graph::validate(model);
    } catch (const UserError&) {
      ++refused;
    } catch (const Unsupported&) {
      ++refused;
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace opsmith::importer
