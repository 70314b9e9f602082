#include "exporter/exporter.h"

#include <fstream>

#include "graph/comparison.h"
#include "graph/shape_inference.h"
#include "tests/graph/onnx_files.h"

namespace opsmith {
namespace {

using namespace opsmith::testing;  // NOLINT: builders of files

void expect_round_trips(const std::vector<std::string>& paths) {
  const TemporaryFolder folder;
  const std::string again = folder.file("again.onnx");
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const graph::Model model = importer::import_model(path);
    { std::ofstream(again, std::ios::binary) << exporter::serialize_model(model); }
    EXPECT_EQ(difference(model, importer::import_model(again)), "");
  }
}

TEST(Conformance, ModelsSurviveImportExportImport) {
  const std::vector<std::string> paths = conformance_models();
  if (paths.empty()) GTEST_SKIP() << "ONNX's conformance data are not installed";
  expect_round_trips(paths);
}

TEST(Conformance, FurtherModelsSurviveImportExportImport) {
  const std::vector<std::string> paths = further_models();
  if (paths.empty()) GTEST_SKIP() << "OPSMITH_MODELS_DIR names no folder with models";
  expect_round_trips(paths);
}

bool contradict(const graph::SymbolicShape& a, const graph::SymbolicShape& b) {
  if (a.size() != b.size()) return true;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].known() && b[i].known() && *a[i].size != *b[i].size) return true;
  }
  return false;
}

/// Forgets what is declared, infers, and compares with what was declared.
TEST(Conformance, InferredShapesAgreeWithTheDeclaredOnes) {
  const std::vector<std::string> paths = conformance_models();
  if (paths.empty()) GTEST_SKIP() << "ONNX's conformance data are not installed";
  int outputs = 0;
  int exact = 0;
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const graph::Model declared = importer::import_model(path);
    graph::Model model = declared;
    for (size_t i = 0; i < model.graph.value_count(); ++i) {
      graph::Value& value = model.graph.value(static_cast<graph::ValueId>(i));
      if (value.constant || model.graph.is_input(static_cast<graph::ValueId>(i))) continue;
      value.type = ElementType::Undefined;
      value.shape.reset();
    }
    infer_shapes(model);
    for (const graph::ValueId id : declared.graph.outputs) {
      const graph::Value& expected = declared.graph.value(id);
      const graph::Value& found = model.graph.value(id);
      ++outputs;
      exact += found.type == expected.type && found.shape == expected.shape;
      if (found.type != ElementType::Undefined) {
        EXPECT_EQ(found.type, expected.type);
      }
      if (!found.shape || !expected.shape) continue;
      EXPECT_FALSE(contradict(*found.shape, *expected.shape))
          << to_string(*found.shape) << " against " << to_string(*expected.shape);
    }
  }
  // The rest depends on the values of inputs or has no tensor type.
  EXPECT_GT(exact, outputs * 8 / 10) << "of " << outputs;
}

}  // namespace
}  // namespace opsmith
