#include "exporter/exporter.h"

#include <fstream>

#include "graph/comparison.h"
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

}  // namespace
}  // namespace opsmith
