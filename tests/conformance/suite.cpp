#include "tests/conformance/suite.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "support/error.h"
#include "support/onnx_tensor.h"

namespace opsmith::conformance {
namespace {

namespace fs = std::filesystem;

void collect(const fs::path& folder, int depth, std::vector<Case>& cases) {
  if (fs::exists(folder / "model.onnx")) {
    const fs::path whole = fs::weakly_canonical(folder);
    cases.push_back({whole.parent_path().filename(), whole.filename(), whole});
    return;
  }
  if (depth == 0) return;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) collect(entry.path(), depth - 1, cases);
  }
}

// File i belongs to value i; files may be missing at the end.
std::map<std::string, Tensor> load(const fs::path& folder, const std::string& prefix,
                                   const graph::Graph& graph,
                                   const std::vector<graph::ValueId>& ids) {
  std::map<std::string, Tensor> values;
  for (size_t i = 0; i < ids.size(); ++i) {
    const fs::path file = folder / (prefix + std::to_string(i) + ".pb");
    const graph::Value& value = graph.value(ids[i]);
    if (!fs::exists(file)) continue;
    Tensor tensor = read_onnx_value(file, value.type);
    // The files were written with numpy, which has no bfloat16: they hold its bits as integers.
    if (value.type == ElementType::BFloat16 && tensor.type() == ElementType::UInt16) {
      tensor =
          Tensor::view(value.type, tensor.shape(), tensor.raw(), std::make_shared<Tensor>(tensor));
    }
    values[value.name] = std::move(tensor);
  }
  return values;
}

}  // namespace

std::vector<Case> find_cases(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw UserError("'" + folder.string() + "' is no folder");
  std::vector<Case> cases;
  collect(folder, 2, cases);
  if (cases.empty()) {
    throw UserError("'" + folder.string() + "' holds no case (a folder with model.onnx)");
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) {
    return std::tie(a.suite, a.name) < std::tie(b.suite, b.name);
  });
  return cases;
}

std::vector<DataSet> load_data_sets(const Case& test, const graph::Model& model) {
  std::vector<DataSet> sets;
  for (int i = 0;; ++i) {
    const fs::path folder = test.folder / ("test_data_set_" + std::to_string(i));
    if (!fs::exists(folder)) break;
    sets.push_back({load(folder, "input_", model.graph, model.graph.inputs),
                    load(folder, "output_", model.graph, model.graph.outputs)});
  }
  return sets;
}

}  // namespace opsmith::conformance
