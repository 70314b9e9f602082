// Runs ONNX's node conformance cases (Debian package libonnx-testdata) through the importer and
// the reference run, for every operator that the registry claims.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "importer/importer.h"
#include "runtime/executor/reference.h"
#include "runtime/kernels/lowering.h"
#include "support/onnx_tensor.h"

namespace opsmith {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = "/usr/share/libonnx-testdata/data/node";

/// Cases that opsmith refuses or answers differently, with the reason; all others must pass.
const std::map<std::string, std::string>& excluded() {
  const std::string training = "training";
  const std::string bfloat16 = "the file stores bfloat16 as uint16";
  const std::string sequence = "sequences and optionals";
  const std::string fractional = "expects a fractional output extent";
  static const std::map<std::string, std::string> cases = {
      {"test_batchnorm_epsilon_training_mode", training},
      {"test_batchnorm_example_training_mode", training},
      {"test_training_dropout", training},
      {"test_training_dropout_default", training},
      {"test_training_dropout_default_mask", training},
      {"test_training_dropout_mask", training},
      {"test_training_dropout_zero_ratio", training},
      {"test_training_dropout_zero_ratio_mask", training},
      {"test_mod_mixed_sign_float16", "Mod of float16"},
      {"test_cast_BFLOAT16_to_FLOAT", bfloat16},
      {"test_cast_FLOAT_to_BFLOAT16", bfloat16},
      {"test_castlike_BFLOAT16_to_FLOAT", bfloat16},
      {"test_castlike_BFLOAT16_to_FLOAT_expanded", bfloat16},
      {"test_castlike_FLOAT_to_BFLOAT16", bfloat16},
      {"test_castlike_FLOAT_to_BFLOAT16_expanded", bfloat16},
      {"test_cast_FLOAT_to_STRING", "strings"},
      {"test_identity_opt", sequence},
      {"test_identity_sequence", sequence},
      {"test_if_opt", sequence},
      {"test_if_seq", sequence},
      {"test_loop13_seq", sequence},
      {"test_loop16_seq_none", sequence},
      {"test_resize_downsample_scales_cubic_align_corners", fractional},
      {"test_resize_downsample_scales_linear_align_corners", fractional},
      {"test_resize_tf_crop_and_resize", "crops"},
  };
  return cases;
}

bool all_supported(const graph::Graph& graph, const std::set<std::string>& supported) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const graph::Node& node) {
    return node.domain.empty() && supported.contains(node.type);
  });
}

bool has_strings(const graph::Graph& graph) {
  for (graph::ValueId id : graph.inputs) {
    if (graph.value(id).type == ElementType::String) return true;
  }
  return false;
}

// Tolerance of ONNX's own backend tests.
void expect_equal(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  ASSERT_EQ(actual.type(), expected.type()) << what;
  Tensor a = actual.cast(ElementType::Float64), b = expected.cast(ElementType::Float64);
  for (int64_t i = 0; i < a.count(); ++i) {
    double x = a.data<double>()[static_cast<size_t>(i)];
    double y = b.data<double>()[static_cast<size_t>(i)];
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y) continue;
    ASSERT_NEAR(x, y, 1e-5 + 1e-3 * std::fabs(y)) << what << " at " << i;
  }
}

void run_case(const fs::path& folder, const graph::Model& model) {
  for (int set = 0; fs::exists(folder / ("test_data_set_" + std::to_string(set))); ++set) {
    fs::path data = folder / ("test_data_set_" + std::to_string(set));
    std::map<std::string, Tensor> inputs;
    for (size_t i = 0; i < model.graph.inputs.size(); ++i) {
      fs::path file = data / ("input_" + std::to_string(i) + ".pb");
      if (!fs::exists(file)) break;
      inputs[model.graph.value(model.graph.inputs[i]).name] = read_onnx_tensor(file).tensor;
    }
    auto outputs = executor::run_reference(model, inputs);
    for (size_t i = 0; i < model.graph.outputs.size(); ++i) {
      fs::path file = data / ("output_" + std::to_string(i) + ".pb");
      const std::string& name = model.graph.value(model.graph.outputs[i]).name;
      expect_equal(outputs.at(name), read_onnx_tensor(file).tensor,
                   folder.filename().string() + " " + name);
    }
  }
}

TEST(Conformance, NodeCasesOfSupportedOperators) {
  if (!fs::exists(kCases)) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::set<std::string> supported;
  for (const std::string& type : kernels::supported_operators()) supported.insert(type);
  supported.insert({"If", "Loop"});
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(kCases)) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  int ran = 0;
  for (const fs::path& folder : folders) {
    std::string name = folder.filename();
    graph::Model model;
    try {
      model = importer::import_model(folder / "model.onnx");
    } catch (const std::exception&) {
      continue;  // the importer's own tests say which files it takes
    }
    if (!all_supported(model.graph, supported) || has_strings(model.graph)) continue;
    if (excluded().contains(name)) continue;
    try {
      run_case(folder, model);
      ++ran;
    } catch (const std::exception& error) {
      ADD_FAILURE() << name << ": " << error.what();
    }
  }
  EXPECT_GT(ran, 300);
}

}  // namespace
}  // namespace opsmith
