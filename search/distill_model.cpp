#include "search/distill_model.h"

#include <algorithm>

#include "graph/passes/pass.h"
#include "runtime/compiler/compiler.h"
#include "runtime/executor/evaluator.h"
#include "search/divergence.h"
#include "search/extract.h"
#include "search/hold_out.h"
#include "support/error.h"

namespace opsmith::search {

namespace {

void check_alike(const graph::Model& model, const graph::Model& original) {
  const auto differ = [&](const std::string& what) {
    return UserError(model.source + " and " + original.source + " have other " + what +
                     "; give the model that was optimized and the one that it was made from");
  };
  if (input_names(model) != input_names(original)) throw differ("inputs");
  if (output_names(model) != output_names(original)) throw differ("outputs");
}

}  // namespace

DistilledModel distill_model(graph::Model model, const graph::Model& original,
                             const OptimizeData& data, const DistillationOptions& options) {
  check_alike(model, original);
  Tensors calibration = data.calibration, evaluation = data.evaluation;
  const int64_t samples = check_samples(original, calibration, "calibration data");
  if (!evaluation.empty()) check_samples(original, evaluation, "evaluation data");
  if (data.calibration_labels && data.calibration_labels->count() != samples) {
    throw UserError("there are " + std::to_string(data.calibration_labels->count()) +
                    " labels for " + std::to_string(samples) + " calibration samples");
  }
  const auto evaluator = executor::make_evaluator();
  graph::simplify(model, {evaluator.get()});
  const auto provider = compiler::make_compiler();
  const Split split =
      split_samples(hold_out(samples, fixed_batch(original), 1024), fixed_batch(original));
  DistillationData training;
  training.inputs = pick_samples(calibration, split.train);
  training.held_out = pick_samples(calibration, split.held_out);
  training.held_out_outputs =
      BatchRunner(original, provider, options.threads).run(training.held_out);
  if (data.calibration_labels) {
    training.labels =
        pick_samples({{"labels", *data.calibration_labels}}, split.train).at("labels");
  }

  DistilledModel result;
  const auto accuracy = [&](const graph::Model& which) -> std::optional<double> {
    if (!data.labels || evaluation.empty()) return std::nullopt;
    const Tensors outputs = BatchRunner(which, provider, options.threads).run(evaluation);
    return top1_accuracy(outputs.at(output_names(original).front()), *data.labels);
  };
  result.accuracy_before = accuracy(model);
  result.report = distill(model, original, provider, training, options);
  result.accuracy_after = accuracy(model);
  result.model = std::move(model);
  return result;
}

}  // namespace opsmith::search
