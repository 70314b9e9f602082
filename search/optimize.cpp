#include "search/optimize.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "exporter/exporter.h"
#include "graph/passes/pass.h"
#include "graph/shape_inference.h"
#include "runtime/compiler/compiler.h"
#include "runtime/executor/evaluator.h"
#include "search/budget.h"
#include "search/divergence.h"
#include "search/extract.h"
#include "search/hold_out.h"
#include "search/measure.h"
#include "search/output_folder.h"
#include "search/report/report.h"
#include "search/study/isolated_fit.h"
#include "search/study/latency.h"
#include "search/study/network_refit.h"
#include "search/study/sensitivity.h"
#include "substitute/targets/cost.h"
#include "support/error.h"
#include "support/file.h"
#include "support/log.h"
#include "support/parallel.h"
#include "support/progress.h"
#include "support/timing.h"

namespace opsmith::search {

namespace {

/// Samples that are held out at most: all their values are kept.
constexpr int64_t kMostHeldOut = 256;
/// Values of the held-out samples that are kept in memory, in bytes.
constexpr double kHeldOutBytes = 1.0e9;

void check_options(const graph::Model& model, const OptimizeData& data,
                   const OptimizeOptions& options) {
  if (!options.max_macs && !options.max_parameters && !options.max_latency) {
    throw UserError("there is no budget; give --max-flops, --max-params or --max-latency");
  }
  if (data.calibration.empty()) {
    throw UserError(
        "there is no calibration data; operators are fitted to the model on example "
        "inputs: give some with --calibration (a few hundred, labels are not needed)");
  }
  if (options.max_accuracy_loss && (!data.labels || data.evaluation.empty())) {
    throw UserError("a limit on the loss of accuracy needs --evaluation and --labels");
  }
  if (data.labels && data.evaluation.empty()) {
    throw UserError("labels were given, but no --evaluation inputs to go with them");
  }
  if (model.graph.outputs.empty()) throw UserError(model.source + ": the model has no outputs");
  if (!options.dry_run && options.output_folder.empty()) {
    throw UserError("there is no output folder; give one with -o");
  }
}

/// How many samples may be held out so that all their values fit into memory.
int64_t most_held_out(const graph::Model& fixed, int64_t batch) {
  double bytes = 1;
  for (size_t i = 0; i < fixed.graph.value_count(); ++i) {
    const graph::Value& value = fixed.graph.value(static_cast<graph::ValueId>(i));
    if (value.constant || !value.shape) continue;
    if (const auto shape = graph::concrete(*value.shape)) {
      bytes += 4.0 * static_cast<double>(element_count(*shape)) / static_cast<double>(batch);
    }
  }
  return std::min(kMostHeldOut, static_cast<int64_t>(kHeldOutBytes / bytes));
}

/// Shares of a time budget after which each phase ends.
constexpr double kFitShare = 0.3;
constexpr double kSensitivityShare = 0.45;
constexpr double kLatencyShare = 0.5;
constexpr double kRefitShare = 0.65;
constexpr double kDistillShare = 0.9;

std::string number(double value, const char* format = "%.2f") {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Why a layer that could be replaced was left alone.
std::string reason_left_alone(const LayerStudy& study, bool refused_slower) {
  const bool all_slower =
      refused_slower && std::all_of(study.candidates.begin(), study.candidates.end(),
                                    [&](const CandidateStudy& candidate) {
                                      return !candidate.worthwhile || is_slower(study, candidate);
                                    });
  if (all_slower) return "every operator that fits was measured slower";
  return "the budget is met at less loss without it";
}

std::vector<LayerChoice> describe_layers(const graph::Model& fixed,
                                         const std::vector<substitute::Target>& targets,
                                         const std::vector<LayerStudy>& studies,
                                         const Choice& choice, const RefitNetwork* refit,
                                         bool refused_slower) {
  std::vector<LayerChoice> layers;
  for (const substitute::Target& target : targets) {
    LayerChoice layer;
    layer.node = target.name;
    layer.reason = target.reason;
    layer.macs_before = layer.macs_after =
        substitute::node_macs(fixed, fixed.graph.nodes.at(static_cast<size_t>(target.node)));
    layer.parameters_before = layer.parameters_after = target.parameters;
    const auto study = std::find_if(
        studies.begin(), studies.end(),
        [&](const LayerStudy& candidate) { return candidate.target.node == target.node; });
    if (study != studies.end()) {
      const size_t s = static_cast<size_t>(study - studies.begin());
      layer.milliseconds_before = layer.milliseconds_after = study->milliseconds;
      if (choice[s]) {
        const CandidateStudy& chosen = study->candidates.at(*choice[s]);
        layer.operator_name = chosen.candidate.name;
        layer.formula = chosen.candidate.formula;
        layer.macs_after = chosen.macs;
        layer.parameters_after = chosen.parameters;
        layer.milliseconds_after = chosen.milliseconds;
        layer.fit_error = refit != nullptr ? refit->layers[s].fit_error : chosen.fit_error;
        layer.predicted_loss = chosen.loss;
        if (is_slower(*study, chosen)) {
          layer.reason = "measured slower alone, but the budget needs it";
        }
      } else {
        layer.reason = reason_left_alone(*study, refused_slower);
      }
    } else if (layer.reason.empty()) {
      layer.reason = "no operator of the catalogue can be fitted by least squares";
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

/// Compares the result with the limits and the gate on accuracy.
void judge(const OptimizeOptions& options, const Resources& limits, OptimizeResult& result) {
  const auto miss = [&](const std::string& message) {
    result.gate_met = false;
    result.gate_message += (result.gate_message.empty() ? "" : "; ") + message;
  };
  const ModelMeasure& optimized = result.optimized;
  if (static_cast<double>(optimized.macs) > limits[kMacs] * (1 + 1e-9)) {
    miss("the result has " + number(static_cast<double>(optimized.macs) / 1e6) +
         "M multiply-accumulates, above the limit of " + number(limits[kMacs] / 1e6) + "M");
  }
  if (static_cast<double>(optimized.parameters) > limits[kParameters] * (1 + 1e-9)) {
    miss("the result has " + std::to_string(optimized.parameters) +
         " parameters, above the limit of " + number(limits[kParameters], "%.0f"));
  }
  const auto time = optimized.latency_ms.find(options.threads);
  if (time != optimized.latency_ms.end() && time->second > limits[kMilliseconds]) {
    miss("the result takes " + number(time->second, "%.3f") + " ms, above the limit of " +
         number(limits[kMilliseconds], "%.3f") + " ms");
  }
  if (options.max_accuracy_loss && result.original.accuracy && optimized.accuracy) {
    const double loss = *result.original.accuracy - *optimized.accuracy;
    if (loss > *options.max_accuracy_loss) {
      miss("accuracy fell by " + number(loss) + " percentage points, more than the " +
           number(*options.max_accuracy_loss) + " allowed");
    }
  }
}

std::vector<int> thread_counts(int threads) {
  std::vector<int> counts = {1, 2, threads};
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  std::erase_if(counts, [&](int count) { return count > threads && count > available_cores(); });
  return counts;
}

}  // namespace

OptimizeResult optimize(const graph::Model& source, const OptimizeData& data,
                        const OptimizeOptions& options) {
  const Stopwatch watch;
  check_options(source, data, options);
  Tensors calibration = data.calibration, evaluation = data.evaluation;
  const int64_t samples = check_samples(source, calibration, "calibration data");
  int64_t evaluation_samples = 0;
  if (!evaluation.empty()) {
    evaluation_samples = check_samples(source, evaluation, "evaluation data");
  }
  if (data.labels && data.labels->count() != evaluation_samples) {
    throw UserError("there are " + std::to_string(data.labels->count()) + " labels for " +
                    std::to_string(evaluation_samples) + " evaluation samples");
  }

  // The model as it will be changed: simplified, batch norms folded into their layers.
  graph::Model model = source;
  const std::unique_ptr<graph::Evaluator> evaluator = executor::make_evaluator();
  graph::simplify(model, {evaluator.get()});
  const int64_t batch = fixed_batch(model);
  graph::Model fixed = model;
  graph::fix_input_shapes(fixed, batch_shapes(calibration, batch));

  const std::vector<substitute::Target> targets = substitute::find_targets(model, options.exclude);
  const std::vector<bool> held_out = hold_out(samples, batch, most_held_out(fixed, batch));
  StudyOptions study_options;
  study_options.seed = options.seed;
  study_options.every_family = options.single_operator;
  const Split split = split_samples(held_out, batch);
  study_options.fit_samples = static_cast<int64_t>(split.fit.size());
  std::vector<LayerStudy> studies = plan_studies(model, fixed, targets, study_options);
  Resources cost = {static_cast<double>(substitute::model_macs(fixed)),
                    static_cast<double>(substitute::model_parameters(fixed)), 0};
  check_reachable(absolute_limits(options, cost), cost, studies, options.single_operator);
  std::optional<OutputFolder> folder;
  if (!options.dry_run) folder.emplace(options.output_folder);

  const std::shared_ptr<schedule::KernelProvider> provider = compiler::make_compiler();
  const std::vector<int> counts = thread_counts(options.threads);
  const Tensors one_sample = slice_samples(calibration, 0, batch);
  if (options.max_latency) {
    cost[kMilliseconds] =
        measure_latency({&model}, provider, one_sample, {options.threads}, options.kernels)[0].at(
            options.threads);
  }
  const Resources limits = absolute_limits(options, cost);

  const auto ends_at = [&](double share) {
    return std::function<bool()>([&, share] {
      return interrupted() || (options.time_budget_seconds > 0 &&
                               watch.seconds() > share * options.time_budget_seconds);
    });
  };

  // Study every operator at every layer alone.
  const Tensors fit_data = pick_samples(calibration, split.fit);
  const Tensors held_out_data = pick_samples(calibration, split.held_out);
  const std::vector<graph::Model> after = models_after(model, studies);
  std::vector<std::string> keep = output_names(model);
  for (const graph::Model& part : after) {
    for (const std::string& name : input_names(part)) keep.push_back(name);
  }
  const OriginalRun original =
      fit_isolated(model, provider, fit_data, held_out_data, options.threads, study_options, keep,
                   ends_at(kFitShare), studies);
  measure_sensitivities(after, provider, original.held_out, options.threads,
                        ends_at(kSensitivityShare), studies);
  executor::SessionOptions session_options = options.kernels;
  session_options.threads = options.threads;
  measure_latencies(fixed, provider, session_options, ends_at(kLatencyShare), studies);

  // Choose and refit in order.
  bool refuse_slower = true;
  const auto choose = [&](bool refuse) {
    const std::vector<LayerOptions> layers = layer_options(studies, refuse);
    const Resources left = limits_for_layers(limits, cost, studies);
    return options.single_operator ? assign_single_family(layers, left) : assign(layers, left);
  };
  std::optional<std::vector<size_t>> assigned = choose(true);
  if (!assigned) {
    refuse_slower = false;
    assigned = choose(false);
  }
  const std::vector<LayerOptions> layers = layer_options(studies, refuse_slower);
  if (!assigned) {
    // Only a latency can turn out to be out of reach this late: come as close as possible.
    assigned.emplace();
    for (const LayerOptions& layer : layers) {
      const auto fastest =
          std::min_element(layer.begin(), layer.end(), [](const Option& a, const Option& b) {
            return a.cost[kMilliseconds] < b.cost[kMilliseconds];
          });
      assigned->push_back(static_cast<size_t>(fastest - layer.begin()));
    }
  }
  Choice choice = to_choice(*assigned);

  OptimizeResult result;
  result.original.macs = static_cast<int64_t>(cost[kMacs]);
  result.original.parameters = static_cast<int64_t>(cost[kParameters]);
  if (options.dry_run) {
    const Resources planned = total_cost(layers, *assigned);
    const Resources left = limits_for_layers({}, cost, studies);  // minus what stays as it is
    result.model = model;
    result.optimized.macs = static_cast<int64_t>(planned[kMacs] - left[kMacs]);
    result.optimized.parameters = static_cast<int64_t>(planned[kParameters] - left[kParameters]);
    result.layers = describe_layers(fixed, targets, studies, choice, nullptr, refuse_slower);
    result.divergence = std::sqrt(total_loss(layers, *assigned));
    result.seconds = watch.seconds();
    return result;
  }

  RefitOptions refit_options;
  refit_options.threads = options.threads;
  refit_options.seed = options.seed;
  refit_options.stop = ends_at(kRefitShare);
  RefitNetwork refit =
      refit_network(model, provider, fit_data, original, studies, choice, refit_options);
  result.model = refit.model;
  result.model.graph.compact();
  graph::Model fixed_result = result.model;
  graph::fix_input_shapes(fixed_result, batch_shapes(calibration, batch));
  result.optimized.macs = substitute::model_macs(fixed_result);
  result.optimized.parameters = substitute::model_parameters(fixed_result);
  result.layers = describe_layers(fixed, targets, studies, choice, &refit, refuse_slower);
  result.predicted_divergence = std::sqrt(total_loss(layers, *assigned));

  // Measure: the evaluation set is read here and nowhere else.
  const std::string first_output = output_names(model).front();
  Tensors reference;
  for (const std::string& name : output_names(model)) {
    reference.emplace(name, original.held_out.at(name));
  }
  const double left = kDistillShare * options.time_budget_seconds - watch.seconds();
  const bool has_time = options.time_budget_seconds <= 0 || left > 0;
  if (options.distillation.epochs > 0 && has_time && !interrupted()) {
    DistillationOptions distillation = options.distillation;
    distillation.threads = options.threads;
    distillation.seed = options.seed;
    distillation.seconds = options.time_budget_seconds > 0 ? left : 0;
    distillation.stop = [] { return interrupted(); };
    DistillationData data_for_it{pick_samples(calibration, split.train), std::nullopt,
                                 held_out_data, reference};
    if (data.calibration_labels) {
      data_for_it.labels =
          pick_samples({{"labels", *data.calibration_labels}}, split.train).at("labels");
    }
    result.distillation = distill(result.model, model, provider, data_for_it, distillation);
  }
  const BatchRunner runner(result.model, provider, options.threads);
  Divergence final_divergence = divergence(runner.run(held_out_data), reference, first_output);
  result.held_out_divergence = final_divergence.relative_l2;
  if (!evaluation.empty()) {
    const Tensors before = BatchRunner(model, provider, options.threads).run(evaluation);
    const Tensors now = runner.run(evaluation);
    final_divergence = divergence(now, before, first_output);
    if (data.labels) {
      result.original.accuracy = top1_accuracy(before.at(first_output), *data.labels);
      result.optimized.accuracy = top1_accuracy(now.at(first_output), *data.labels);
    }
  }
  result.agreement = final_divergence.agreement;
  result.divergence = final_divergence.relative_l2;
  const auto latencies =
      measure_latency({&model, &result.model}, provider, one_sample, counts, options.kernels);
  result.original.latency_ms = latencies[0];
  result.optimized.latency_ms = latencies[1];
  judge(options, limits, result);
  result.seconds = watch.seconds();

  exporter::export_model(result.model, folder->staged("model.onnx"));
  write_file(folder->staged("report.json"), json_report(source, data, options, result));
  write_file(folder->staged("config.json"), json_configuration(source, options));
  write_file(folder->staged("report.html"), html_report(source, data, options, result));
  folder->commit();
  return result;
}

}  // namespace opsmith::search
