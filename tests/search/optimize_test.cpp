#include "search/optimize.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "importer/importer.h"
#include "runtime/compiler/compiler.h"
#include "search/divergence.h"
#include "search/extract.h"
#include "search/samples.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/substitute/targets/models.h"

namespace opsmith::search {
namespace {

namespace fs = std::filesystem;
using substitute::random_tensor;
using substitute::small_network;

/// A folder of its own for each test, gone afterwards.
class OptimizeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() /
        ("opsmith_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
         "_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  OptimizeOptions options(const std::string& limit) const {
    OptimizeOptions result;
    result.max_macs = parse_limit(limit);
    result.output_folder = folder_.string();
    result.threads = 1;
    result.distillation.epochs = 0;
    return result;
  }
  static OptimizeData data(int64_t samples) {
    OptimizeData result;
    result.calibration["x"] = random_tensor({samples, 1, 12, 12}, 3, 1);
    return result;
  }
  /// Runs and expects a UserError that contains `part` and leaves no folder behind.
  void expect_refusal(const OptimizeData& inputs, const OptimizeOptions& how,
                      const std::string& part) const {
    try {
      optimize(small_network(), inputs, how);
      FAIL() << "no error about " << part;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
    EXPECT_FALSE(fs::exists(folder_));
  }

  fs::path folder_;
};

TEST_F(OptimizeTest, MeetsTheBudgetAndWritesEverything) {
  OptimizeData inputs = data(96);
  inputs.evaluation["x"] = random_tensor({32, 1, 12, 12}, 5, 1);
  inputs.labels = Tensor::of<int64_t>({32}, std::vector<int64_t>(32, 1));
  const OptimizeResult result = optimize(small_network(), inputs, options("70%"));
  EXPECT_LE(static_cast<double>(result.optimized.macs),
            0.7 * static_cast<double>(result.original.macs));
  EXPECT_GT(result.optimized.macs, 0);
  EXPECT_TRUE(result.gate_met) << result.gate_message;
  EXPECT_LT(result.divergence, 1.0);
  ASSERT_TRUE(result.original.accuracy.has_value());
  for (const char* name : {"model.onnx", "report.html", "report.json", "config.json"}) {
    EXPECT_TRUE(fs::exists(folder_ / name)) << name;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 4);
  const auto report = nlohmann::json::parse(read_file((folder_ / "report.json").string()));
  EXPECT_EQ(report.at("optimized").at("macs").get<int64_t>(), result.optimized.macs);
  EXPECT_TRUE(report.at("original").at("latency_ms").contains("1"));
  EXPECT_EQ(report.at("layers").size(), 4u);
  const std::string html = read_file((folder_ / "report.html").string());
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_EQ(html.find("http://"), std::string::npos) << "the page must open without a network";

  // The file that was written computes what the result does.
  const auto provider = compiler::make_compiler("none");
  const graph::Model written = importer::import_model((folder_ / "model.onnx").string());
  const Tensor a = BatchRunner(written, provider, 1).run(inputs.evaluation).at("scores");
  const Tensor b = BatchRunner(result.model, provider, 1).run(inputs.evaluation).at("scores");
  EXPECT_LT(relative_error(a, b), 1e-5);
}

TEST_F(OptimizeTest, DistillationLosesNothing) {
  OptimizeOptions how = options("60%");
  how.distillation.epochs = 2;
  const OptimizeResult result = optimize(small_network(), data(96), how);
  ASSERT_TRUE(result.distillation.has_value());
  EXPECT_EQ(result.distillation->held_out.size(), 3U);
  EXPECT_LE(result.held_out_divergence, result.distillation->held_out.front() * (1 + 1e-9));
  const auto report = nlohmann::json::parse(read_file((folder_ / "report.json").string()));
  EXPECT_EQ(report.at("distillation").at("loss"), "relative L2");
}

/// When time is up at once, every phase falls back on what takes none, and the limit still holds.
TEST_F(OptimizeTest, NoTimeStillGivesAResult) {
  OptimizeOptions how = options("60%");
  how.distillation.epochs = 1000;
  how.time_budget_seconds = 1e-6;
  const OptimizeResult result = optimize(small_network(), data(96), how);
  EXPECT_FALSE(result.distillation.has_value());
  EXPECT_LE(static_cast<double>(result.optimized.macs),
            0.6 * static_cast<double>(result.original.macs));
  EXPECT_TRUE(result.gate_met) << result.gate_message;
  EXPECT_LT(result.divergence, 1.5);
  EXPECT_TRUE(fs::exists(folder_ / "model.onnx"));
}

TEST_F(OptimizeTest, HoldsALimitOfParametersWithOneFamily) {
  OptimizeOptions how = options("90%");
  how.max_macs.reset();
  how.max_parameters = parse_limit("70%");
  how.single_operator = true;
  const OptimizeResult result = optimize(small_network(), data(96), how);
  EXPECT_LE(static_cast<double>(result.optimized.parameters),
            0.7 * static_cast<double>(result.original.parameters));
  std::set<std::string> families;
  for (const LayerChoice& layer : result.layers) {
    if (!layer.operator_name.empty()) {
      families.insert(layer.operator_name.substr(0, layer.operator_name.find(' ')));
    }
  }
  EXPECT_EQ(families.size(), 1U);
}

TEST_F(OptimizeTest, RefusesBadInput) {
  expect_refusal({}, options("70%"), "--calibration");
  OptimizeOptions none = options("70%");
  none.max_macs.reset();
  expect_refusal(data(16), none, "no budget");
  expect_refusal(data(16), options("0.1%"), "out of reach");
  OptimizeData wrong_shape;
  wrong_shape.calibration["x"] = random_tensor({16, 1, 10, 12}, 1);
  expect_refusal(wrong_shape, options("70%"), "[16, 1, 10, 12]");
  OptimizeData wrong_name;
  wrong_name.calibration["y"] = random_tensor({16, 1, 12, 12}, 1);
  expect_refusal(wrong_name, options("70%"), "'x'");
  OptimizeData labels = data(16);
  labels.evaluation = labels.calibration;
  labels.labels = Tensor::of<int64_t>({3}, {0, 1, 2});
  expect_refusal(labels, options("70%"), "3 labels");
  OptimizeOptions excluded = options("70%");
  excluded.exclude = {"nowhere"};
  expect_refusal(data(16), excluded, "nowhere");
}

TEST_F(OptimizeTest, RefusesAFolderThatCannotBeWritten) {
  OptimizeOptions how = options("70%");
  how.output_folder = "/proc/opsmith";
  expect_refusal(data(16), how, "/proc/opsmith");
}

TEST_F(OptimizeTest, DryRunWritesNothing) {
  OptimizeOptions how = options("70%");
  how.dry_run = true;
  const OptimizeResult result = optimize(small_network(), data(32), how);
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_LE(static_cast<double>(result.optimized.macs),
            0.7 * static_cast<double>(result.original.macs));
}

TEST(Limit, ParsesSharesAndUnits) {
  EXPECT_TRUE(parse_limit("40%").share);
  EXPECT_DOUBLE_EQ(parse_limit("40%").value, 0.4);
  EXPECT_DOUBLE_EQ(parse_limit("26M").value, 26e6);
  EXPECT_DOUBLE_EQ(parse_limit("3ms").value, 3);
  EXPECT_DOUBLE_EQ(parse_limit("1.5G").value, 1.5e9);
  for (const char* bad : {"", "%", "x", "4q", "-3", "nan"}) {
    EXPECT_THROW(parse_limit(bad), UserError) << bad;
  }
}

TEST(Extract, PartsOfAModelComputeTheSameValues) {
  const graph::Model model = small_network();
  const auto provider = compiler::make_compiler("none");
  const Tensors inputs = {{"x", random_tensor({3, 1, 12, 12}, 2, 1)}};
  const std::string middle = model.graph.value(model.graph.nodes[2].outputs[0]).name;
  const Tensor expected = BatchRunner(model, provider, 1).run(inputs).at("scores");
  const Tensors before = BatchRunner(extract_before(model, {middle}), provider, 1).run(inputs);
  const graph::Model after = extract_after(model, middle);
  EXPECT_EQ(input_names(after), std::vector<std::string>{middle});
  const Tensor found = BatchRunner(after, provider, 1).run(before).at("scores");
  EXPECT_LT(relative_error(found, expected), 1e-5);
}

TEST(DivergenceMeasure, CountsDistanceAndAgreement) {
  const Tensors a = {{"y", Tensor::of<float>({2, 2}, {1, 0, 0, 1})}};
  const Tensors b = {{"y", Tensor::of<float>({2, 2}, {1, 0, 1, 0})}};
  const Divergence found = divergence(a, b, "y");
  EXPECT_DOUBLE_EQ(found.relative_l2, 1);
  EXPECT_DOUBLE_EQ(found.agreement, 0.5);
  EXPECT_DOUBLE_EQ(top1_accuracy(a.at("y"), Tensor::of<int64_t>({2}, {0, 0})), 50);
  EXPECT_THROW(top1_accuracy(a.at("y"), Tensor::of<int64_t>({1}, {0})), UserError);
}

}  // namespace
}  // namespace opsmith::search
