#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/distillation_flags.h"
#include "cli/inputs.h"
#include "cli/table.h"
#include "exporter/exporter.h"
#include "search/distill_model.h"
#include "support/error.h"
#include "support/progress.h"

namespace opsmith::cli {
namespace {

struct DistillCommandOptions : CommonOptions {
  std::string model, original, output;
  std::vector<std::string> calibration, evaluation;
  std::string labels, calibration_labels, time_budget;
  DistillationFlags flags;
  bool profile = false;
};

void print_profile(const search::DistillationReport& report) {
  Table table({"step", "operation:", "GFLOP/s", "ms", "shape:"});
  double total = 0;
  for (const executor::StepProfile& step : report.profile) total += step.milliseconds;
  for (const executor::StepProfile& step : report.profile) {
    table.add({step.node, step.operation,
               fixed(2e-6 * static_cast<double>(step.multiply_accumulates) / step.milliseconds, 1),
               fixed(step.milliseconds, 3), to_string(step.output)});
  }
  table.print(std::cout);
  std::cout << "all steps " << fixed(total, 3) << " ms\n";
}

void run(const DistillCommandOptions& options) {
  check_output_file(options.output, options.model);
  search::DistillationOptions distillation = distillation_options(options.flags);
  distillation.threads = options.threads;
  distillation.seed = options.seed;
  distillation.profile = options.profile;
  if (!options.time_budget.empty()) distillation.seconds = parse_duration(options.time_budget);
  distillation.stop = [] { return interrupted(); };
  graph::Model model = load_model(options.model, options.shapes);
  const graph::Model original = load_model(options.original, options.shapes);
  search::OptimizeData data;
  data.calibration = load_inputs(original, options.calibration, true);
  if (!options.evaluation.empty())
    data.evaluation = load_inputs(original, options.evaluation, true);
  if (!options.labels.empty()) data.labels = load_labels(options.labels);
  if (!options.calibration_labels.empty()) {
    data.calibration_labels = load_labels(options.calibration_labels);
  }
  catch_interrupt();
  const search::DistilledModel result =
      search::distill_model(std::move(model), original, data, distillation);
  exporter::export_model(result.model, options.output);
  if (options.profile) print_profile(result.report);
  std::cout << describe(result.report) << "\n";
  if (result.accuracy_before && result.accuracy_after) {
    std::cout << "accuracy " << fixed(*result.accuracy_before, 2) << " % -> "
              << fixed(*result.accuracy_after, 2) << " %\n";
  }
  write_json(options.json, {{"held_out", result.report.held_out},
                            {"best_epoch", result.report.best_epoch},
                            {"seconds", result.report.seconds},
                            {"samples_per_second", result.report.samples_per_second},
                            {"gflops", result.report.gflops},
                            {"peak_share", result.report.peak_share},
                            {"accuracy_before", result.accuracy_before.value_or(-1)},
                            {"accuracy_after", result.accuracy_after.value_or(-1)}});
}

}  // namespace

void add_distill_command(CLI::App& app) {
  const auto options = std::make_shared<DistillCommandOptions>();
  options->threads = 2;
  CLI::App& command = *app.add_subcommand(
      "distill", "Train a substituted model further to give the original's outputs");
  command.add_option("model", options->model, "ONNX file to train")->required()->group("Input");
  command.add_option("original", options->original, "ONNX file that it came from")
      ->required()
      ->group("Input");
  command.add_option("--calibration", options->calibration, "Inputs to train on, no labels needed")
      ->type_name("FILE")
      ->required()
      ->allow_extra_args(false)
      ->group("Input");
  command
      .add_option("--calibration-labels", options->calibration_labels,
                  "Their class numbers, if known: mixed into the targets of kl")
      ->type_name("FILE")
      ->group("Input");
  command
      .add_option("--evaluation", options->evaluation,
                  "Inputs for the measurement before and after")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group("Input");
  command.add_option("--labels", options->labels, "Class numbers of the evaluation inputs")
      ->type_name("FILE")
      ->group("Input");
  add_shape_flag(command, *options);
  add_distillation_flags(command, options->flags);
  add_threads_flag(command, *options);
  add_seed_flag(command, *options);
  command.add_option("--time-budget", options->time_budget, "End the schedule by then: 90s, 10m")
      ->type_name("TIME")
      ->group("Running");
  command.add_option("-o,--output", options->output, "ONNX file to write")
      ->type_name("FILE")
      ->required()
      ->group("Output");
  command.add_flag("--profile", options->profile, "Time every part of one training step")
      ->group("Output");
  add_json_flag(command, *options);
  add_log_flags(command, *options);
  command.footer(
      "Example:\n"
      "  opsmith distill out/model.onnx model.onnx -o better.onnx --calibration train.gz \\\n"
      "    --distill-epochs 4 --flip --shift 2");
  command.callback([options] { run(*options); });
}

}  // namespace opsmith::cli
