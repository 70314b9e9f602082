#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/distillation_flags.h"
#include "cli/inputs.h"
#include "cli/replay.h"
#include "cli/table.h"
#include "search/optimize.h"
#include "support/error.h"
#include "support/file.h"
#include "support/progress.h"
#include "support/tensor_files.h"

namespace opsmith::cli {
namespace {

namespace fs = std::filesystem;

struct OptimizeCommandOptions : CommonOptions {
  std::string model;
  std::vector<std::string> calibration, evaluation;
  std::string labels, calibration_labels;
  std::string max_flops, max_parameters, max_latency;
  std::string time_budget;
  double max_accuracy_loss = -1;
  DistillationFlags distillation;
  search::OptimizeOptions search;
};

search::OptimizeOptions search_options(const OptimizeCommandOptions& options) {
  search::OptimizeOptions result = options.search;
  if (!options.max_flops.empty()) {
    result.max_macs = search::parse_limit(options.max_flops);
    if (!result.max_macs->share) result.max_macs->value /= 2;  // a multiply-accumulate is two
  }
  if (!options.max_parameters.empty()) {
    result.max_parameters = search::parse_limit(options.max_parameters);
  }
  if (!options.max_latency.empty()) result.max_latency = search::parse_limit(options.max_latency);
  if (options.max_accuracy_loss >= 0) result.max_accuracy_loss = options.max_accuracy_loss;
  if (!options.time_budget.empty()) {
    result.time_budget_seconds = parse_duration(options.time_budget);
  }
  result.distillation = distillation_options(options.distillation);
  result.arguments = recorded_arguments();
  result.threads = options.threads;
  result.kernels = session_options(options);
  result.seed = options.seed;
  return result;
}

/// Everything that can be told from the flags alone, before a file is read.
void check(const OptimizeCommandOptions& options) {
  if (options.calibration.empty()) {
    throw UserError(
        "there is no calibration data; give some inputs as the model sees them with "
        "--calibration FILE (a few hundred to a few thousand samples, no labels needed)");
  }
  if (options.max_flops.empty() && options.max_parameters.empty() && options.max_latency.empty()) {
    throw UserError(
        "there is no budget; give --max-flops, --max-params or --max-latency, as a "
        "share of the original (40%) or absolute");
  }
  if (!options.labels.empty() && options.evaluation.empty()) {
    throw UserError("--labels belong to evaluation inputs; give them with --evaluation FILE");
  }
  if (options.max_accuracy_loss >= 0 && options.labels.empty()) {
    throw UserError("--max-accuracy-loss needs --evaluation and --labels to measure accuracy with");
  }
  std::error_code error;
  const fs::path folder = options.search.output_folder;
  if (fs::equivalent(folder / "model.onnx", options.model, error)) {
    throw UserError("writing into '" + folder.string() + "' would overwrite the input '" +
                    options.model + "'; choose another output folder");
  }
  if (fs::exists(folder) && !fs::is_directory(folder)) {
    throw UserError("the output '" + folder.string() + "' is a file; give a folder");
  }
  if (!options.json.empty()) check_output_file(options.json, options.model);
}

std::string change(int64_t before, int64_t after) {
  if (before == 0) return "";
  return fixed(100.0 * static_cast<double>(after) / static_cast<double>(before), 1) + " %";
}

void print(const search::OptimizeResult& result) {
  Table layers({"layer", "becomes:", "MMAC", "was", "fit error"});
  for (const search::LayerChoice& layer : result.layers) {
    const bool kept = layer.operator_name.empty();
    const std::string left = layer.reason.empty() ? "left alone" : "left alone: " + layer.reason;
    layers.add({layer.node, kept ? left : layer.operator_name,
                fixed(static_cast<double>(layer.macs_after) * 1e-6, 3),
                fixed(static_cast<double>(layer.macs_before) * 1e-6, 3),
                kept ? "" : fixed(layer.fit_error, 4)});
  }
  layers.print(std::cout);

  const search::ModelMeasure &before = result.original, &after = result.optimized;
  Table table({"", "before", "after", "share"});
  if (before.accuracy && after.accuracy) {
    table.add({"accuracy", fixed(*before.accuracy, 2) + " %", fixed(*after.accuracy, 2) + " %",
               fixed(*after.accuracy - *before.accuracy, 2) + " points"});
  }
  table.add({"MACs", human(static_cast<double>(before.macs)),
             human(static_cast<double>(after.macs)), change(before.macs, after.macs)});
  table.add({"parameters", human(static_cast<double>(before.parameters)),
             human(static_cast<double>(after.parameters)),
             change(before.parameters, after.parameters)});
  for (const auto& [threads, milliseconds] : before.latency_ms) {
    const auto found = after.latency_ms.find(threads);
    if (found == after.latency_ms.end()) continue;
    table.add({"latency, " + std::to_string(threads) + " thread" + (threads == 1 ? "" : "s"),
               fixed(milliseconds, 3) + " ms", fixed(found->second, 3) + " ms",
               fixed(100 * found->second / milliseconds, 1) + " %"});
  }
  std::cout << "\n";
  table.print(std::cout);
  if (result.distillation) std::cout << "\n" << describe(*result.distillation) << "\n";
  std::cout << "\nagreement with the original " << fixed(100 * result.agreement, 2)
            << " %, divergence " << fixed(result.divergence, 4) << ", " << fixed(result.seconds, 1)
            << " s\n";
}

nlohmann::json to_json(const search::ModelMeasure& measure) {
  nlohmann::json json{{"macs", measure.macs}, {"parameters", measure.parameters}};
  if (measure.accuracy) json["accuracy"] = *measure.accuracy;
  json["latency_ms"] = nlohmann::json::object();
  for (const auto& [threads, milliseconds] : measure.latency_ms) {
    json["latency_ms"][std::to_string(threads)] = milliseconds;
  }
  return json;
}

void run(const OptimizeCommandOptions& options) {
  check(options);
  const search::OptimizeOptions search = search_options(options);
  graph::Model model = load_model(options.model, options.shapes);
  search::OptimizeData data;
  data.calibration = load_inputs(model, options.calibration, true);
  if (!options.evaluation.empty()) data.evaluation = load_inputs(model, options.evaluation, true);
  if (!options.labels.empty()) data.labels = load_labels(options.labels);
  if (!options.calibration_labels.empty()) {
    data.calibration_labels = load_labels(options.calibration_labels);
  }

  catch_interrupt();
  const search::OptimizeResult result = search::optimize(model, data, search);
  print(result);
  write_json(options.json, {{"original", to_json(result.original)},
                            {"optimized", to_json(result.optimized)},
                            {"agreement", result.agreement},
                            {"divergence", result.divergence},
                            {"seconds", result.seconds},
                            {"gate_met", result.gate_met},
                            {"gate_message", result.gate_message}});
  if (!search.dry_run) std::cout << "wrote '" << search.output_folder << "'\n";
  if (!result.gate_met) throw GateMissed(result.gate_message);
}

}  // namespace

void add_optimize_command(CLI::App& app) {
  const auto options = std::make_shared<OptimizeCommandOptions>();
  options->threads = 2;
  search::OptimizeOptions& search = options->search;
  CLI::App& command = *app.add_subcommand(
      "optimize", "Replace costly layers by cheaper operators fitted to the trained model");
  command.add_option("model", options->model, "ONNX file")->required()->group("Input");
  const std::string formats =
      "[NAME=]FILE, repeatable: .npz, .npy, .pb, IDX (also .gz), a folder of ONNX test data; "
      "FILE[0:2048] takes a part";
  command
      .add_option("--calibration", options->calibration,
                  "Inputs to fit on, no labels needed. " + formats)
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group("Input");
  command
      .add_option("--calibration-labels", options->calibration_labels,
                  "Class numbers of the calibration inputs, if known (used by --distill-loss kl)")
      ->type_name("FILE")
      ->group("Input");
  command
      .add_option("--evaluation", options->evaluation,
                  "Inputs for the final measurement, seen by nothing else")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group("Input");
  command.add_option("--labels", options->labels, "Class numbers of the evaluation inputs")
      ->type_name("FILE")
      ->group("Input");
  add_shape_flag(command, *options);

  command.add_option("--max-flops", options->max_flops, "Most operations: 40% or 500M (FLOPs)")
      ->type_name("LIMIT")
      ->group("Budget");
  command.add_option("--max-params", options->max_parameters, "Most parameters: 50% or 2M")
      ->type_name("LIMIT")
      ->group("Budget");
  command.add_option("--max-latency", options->max_latency, "Longest run, measured: 60% or 3ms")
      ->type_name("LIMIT")
      ->group("Budget");
  command
      .add_option("--max-accuracy-loss", options->max_accuracy_loss,
                  "Largest loss of top-1 in percentage points, or exit code 3")
      ->check(CLI::Range(0.0, 100.0))
      ->group("Budget");

  command
      .add_flag("--single-operator", search.single_operator, "One operator for the whole network")
      ->group("Choice");
  command.add_option("--exclude", search.exclude, "Leave this layer alone (repeatable)")
      ->type_name("NODE")
      ->allow_extra_args(false)
      ->group("Choice");

  add_distillation_flags(command, options->distillation);
  add_threads_flag(command, *options);
  add_kernel_flags(command, *options);
  add_seed_flag(command, *options);
  command.add_option("--time-budget", options->time_budget, "Stop searching after this: 90s, 10m")
      ->type_name("TIME")
      ->group("Running");

  command.add_option("-o,--output", search.output_folder, "Folder to write")
      ->type_name("FOLDER")
      ->required()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->group("Output");
  command.add_flag("--dry-run", search.dry_run, "Plan and predict, write nothing")->group("Output");
  add_json_flag(command, *options);
  add_log_flags(command, *options);
  command.footer(
      "Writes model.onnx, report.html, report.json and config.json; with that,\n"
      "  opsmith optimize --replay out/config.json -o again\n"
      "does the same once more.\n"
      "Example:\n"
      "  opsmith optimize model.onnx -o out --max-flops 40% --calibration 'train.gz[0:2048]' \\\n"
      "    --evaluation test.gz --labels test-labels.gz --max-accuracy-loss 1");
  command.callback([options] { run(*options); });
}

}  // namespace opsmith::cli
