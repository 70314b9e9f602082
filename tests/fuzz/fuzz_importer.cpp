// Any bytes as a model: import refuses or gives a sound model, which export writes and import reads
// back the same; inference and all passes then leave a sound model or refuse.

#include "exporter/exporter.h"
#include "graph/comparison.h"
#include "graph/passes/pass.h"
#include "graph/shape_inference.h"
#include "graph/validate.h"
#include "importer/importer.h"
#include "runtime/executor/evaluator.h"
#include "support/log.h"
#include "tests/fuzz/target.h"

namespace {

using namespace opsmith;  // NOLINT: one target, one file

/// Export may refuse what import kept (a mix of operator sets); what it writes must be the model.
void check_round_trip(const graph::Model& model) {
  std::string bytes;
  if (!fuzz::accepts([&] { bytes = exporter::serialize_model(model); })) return;
  const std::string difference =
      graph::difference(model, importer::import_model(bytes, "again.onnx"));
  if (!difference.empty()) fuzz::broken("export and import changed the model: " + difference);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto evaluator = [] {
    set_log_level(LogLevel::Error);
    return executor::make_evaluator();
  }();
  graph::Model model;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!fuzz::accepts([&] { model = importer::import_model(bytes, "fuzz.onnx"); })) return 0;
  graph::validate(model);
  check_round_trip(model);
  if (!fuzz::accepts([&] { graph::infer_shapes(model); })) return 0;
  graph::PassContext context;
  context.evaluator = evaluator.get();
  if (!fuzz::accepts([&] { graph::simplify(model, context); })) return 0;
  graph::validate(model);
  return 0;
}
