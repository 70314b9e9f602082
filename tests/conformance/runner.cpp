#include "tests/conformance/runner.h"

#include <unistd.h>

#include "exporter/exporter.h"
#include "graph/comparison.h"
#include "importer/importer.h"
#include "runtime/executor/reference.h"
#include "runtime/executor/session.h"
#include "support/error.h"
#include "tests/conformance/judge.h"

namespace opsmith::conformance {
namespace {

namespace fs = std::filesystem;

using Tensors = std::map<std::string, Tensor>;

/// A model file that exists while it is needed.
class TemporaryModel {
 public:
  TemporaryModel()
      : path_(fs::temp_directory_path() /
              ("opsmith_conformance_" + std::to_string(::getpid()) + ".onnx")) {}
  ~TemporaryModel() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  TemporaryModel(const TemporaryModel&) = delete;
  TemporaryModel& operator=(const TemporaryModel&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class ModelRun {
 public:
  ModelRun(const graph::Model& model, const Runner& runner) : model_(model) {
    if (runner.provider == nullptr) return;
    executor::SessionOptions options;
    options.threads = runner.threads;
    session_ = std::make_unique<executor::Session>(model, runner.provider, options);
  }
  Tensors run(const Tensors& inputs) const {
    return session_ ? session_->run(inputs) : executor::run_reference(model_, inputs);
  }

 private:
  const graph::Model& model_;
  std::unique_ptr<executor::Session> session_;
};

// A few of ONNX's files hold inputs of another shape than their models declare; there the
// declaration counts for nothing.
graph::Model without_wrong_shapes(graph::Model model, const std::vector<DataSet>& sets) {
  for (const graph::ValueId id : model.graph.inputs) {
    graph::Value& value = model.graph.value(id);
    const auto declared = value.shape ? concrete(*value.shape) : std::nullopt;
    for (const DataSet& set : sets) {
      const auto given = set.inputs.find(value.name);
      if (declared && given != set.inputs.end() && given->second.shape() != *declared) {
        value.shape.reset();
      }
    }
  }
  return model;
}

// Why the model's outputs are not the expected ones.
std::string judge(const graph::Model& declared, const std::vector<DataSet>& sets, bool statistical,
                  const Runner& runner) {
  const graph::Model model = without_wrong_shapes(declared, sets);
  const ModelRun run(model, runner);
  for (const DataSet& set : sets) {
    const Tensors actual = run.run(set.inputs);
    for (const auto& [name, expected] : set.outputs) {
      const auto found = actual.find(name);
      const Tensor value = found == actual.end() ? Tensor() : found->second;
      const std::string why =
          statistical ? statistical_difference(value, expected) : difference(value, expected);
      if (!why.empty()) return "output '" + name + "': " + why;
    }
  }
  return "";
}

}  // namespace

Outcome run_case(const Case& test, const Runner& runner) {
  Outcome outcome;
  try {
    const graph::Model model = importer::import_model(test.folder / "model.onnx");
    const std::vector<DataSet> sets = load_data_sets(test, model);
    outcome.statistical = draws_random_numbers(model, sets.empty() ? Tensors{} : sets[0].inputs);
    outcome.reason = judge(model, sets, outcome.statistical, runner);
    if (outcome.reason.empty()) {
      const TemporaryModel file;
      exporter::export_model(model, file.path());
      const graph::Model again = importer::import_model(file.path());
      outcome.reason = graph::difference(model, again);
      if (outcome.reason.empty()) {
        outcome.reason = judge(again, sets, outcome.statistical, runner);
      }
      if (!outcome.reason.empty()) outcome.reason = "after export: " + outcome.reason;
    }
    if (!outcome.reason.empty()) outcome.verdict = Verdict::Failed;
  } catch (const Unsupported& error) {
    outcome.verdict = Verdict::Unsupported;
    outcome.reason = error.what();
  } catch (const std::exception& error) {
    outcome.verdict = Verdict::Failed;
    outcome.reason = error.what();
  }
  return outcome;
}

}  // namespace opsmith::conformance
