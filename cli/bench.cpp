#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/inputs.h"
#include "cli/table.h"
#include "runtime/compiler/peak.h"
#include "runtime/executor/session.h"
#include "support/error.h"
#include "support/log.h"
#include "support/resident_memory.h"
#include "support/timing.h"

namespace opsmith::cli {
namespace {

using executor::Session;
using executor::StepProfile;

struct BenchOptions : CommonOptions {
  std::vector<std::string> models;
  std::vector<int> thread_counts{1};
  std::vector<std::string> inputs;
  std::string time_budget = "10s";
  bool profile = false;
};

struct Contestant {
  std::string path;
  graph::Model model;
  double load_seconds = 0;
  Tensors inputs;
};

struct Result {
  std::string model;
  int threads = 1;
  TimingSummary timing;
  int64_t macs = 0;
  double peak_share = 0;
  double open_seconds =
      0;                   ///< from the file to a plan, kernels from the cache where they are there
  int64_t peak_bytes = 0;  ///< memory that opening and the first run added at most
  int64_t arena_bytes = 0;
  int64_t weight_bytes = 0;
  std::vector<StepProfile> steps;
};

int64_t total_macs(const std::vector<StepProfile>& steps) {
  int64_t total = 0;
  for (const StepProfile& step : steps) total += step.multiply_accumulates;
  return total;
}

std::map<std::string, Shape> shapes_of(const Tensors& tensors) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : tensors) shapes[name] = tensor.shape();
  return shapes;
}

/// All contestants at one thread count, timed in turns. One that cannot run is left out with a
/// warning: it must not spoil the others' measurement.
std::vector<Result> measure_all(const std::vector<Contestant>& contestants,
                                const executor::SessionOptions& session_options, double seconds,
                                double peak) {
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<Result> results;
  std::vector<std::function<void()>> work;
  for (const Contestant& contestant : contestants) {
    try {
      Result result;
      result.model = contestant.path;
      result.threads = session_options.threads;
      const int64_t resident = resident_bytes();
      reset_peak_resident();
      const Stopwatch opening;
      auto session =
          std::make_unique<Session>(contestant.model, kernel_provider(), session_options);
      session->prepare(shapes_of(contestant.inputs));
      result.open_seconds = contestant.load_seconds + opening.seconds();
      session->run(contestant.inputs);
      result.peak_bytes = peak_resident_bytes() - resident;
      result.arena_bytes = session->arena_bytes(shapes_of(contestant.inputs));
      result.weight_bytes = session->weight_bytes();
      result.steps = session->profile(contestant.inputs);
      result.macs = total_macs(result.steps);
      results.push_back(std::move(result));
      sessions.push_back(std::move(session));
    } catch (const Unsupported& error) {
      log_warning("'" + contestant.path + "' is left out: " + error.what());
      continue;
    }
    work.push_back(
        [session = sessions.back().get(), &contestant] { session->run(contestant.inputs); });
  }
  TimingOptions timing;
  timing.seconds = seconds;
  timing.warmup = 2;
  const std::vector<TimingSummary> summaries = measure_interleaved(work, timing);
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].timing = summaries[i];
    const double flops = 2.0 * static_cast<double>(results[i].macs) / summaries[i].median;
    results[i].peak_share = flops / peak;
  }
  return results;
}

void print_profile(const Result& result) {
  std::vector<StepProfile> steps = result.steps;
  std::stable_sort(steps.begin(), steps.end(), [](const StepProfile& a, const StepProfile& b) {
    return a.milliseconds > b.milliseconds;
  });
  std::cout << "\n" << result.model << ", " << result.threads << " thread(s), slowest first\n";
  Table table({"layer", "operation:", "variant:", "output:", "ms", "MMAC", "GFLOP/s"});
  for (const StepProfile& step : steps) {
    const auto macs = static_cast<double>(step.multiply_accumulates);
    table.add({step.node, step.operation, step.variant, to_string(step.output),
               fixed(step.milliseconds, 3), fixed(macs / 1e6, 1),
               step.milliseconds > 0 && macs > 0 ? fixed(2e-6 * macs / step.milliseconds, 1) : ""});
  }
  table.print(std::cout);
}

nlohmann::json to_json(const Result& result, bool with_steps) {
  nlohmann::json json{{"model", result.model},
                      {"threads", result.threads},
                      {"median_ms", result.timing.median * 1e3},
                      {"centre_ms", result.timing.centre * 1e3},
                      {"p90_ms", result.timing.p90 * 1e3},
                      {"spread", result.timing.spread},
                      {"runs", result.timing.runs},
                      {"macs", result.macs},
                      {"gflops", 2e-9 * static_cast<double>(result.macs) / result.timing.median},
                      {"peak_share", result.peak_share},
                      {"open_ms", result.open_seconds * 1e3},
                      {"peak_bytes", result.peak_bytes},
                      {"arena_bytes", result.arena_bytes},
                      {"weight_bytes", result.weight_bytes}};
  if (with_steps) {
    json["steps"] = nlohmann::json::array();
    for (const StepProfile& step : result.steps) {
      json["steps"].push_back({{"node", step.node},
                               {"operation", step.operation},
                               {"variant", step.variant},
                               {"output", step.output},
                               {"milliseconds", step.milliseconds},
                               {"macs", step.multiply_accumulates}});
    }
  }
  return json;
}

void run(const BenchOptions& options) {
  const double seconds = parse_duration(options.time_budget);
  if (!options.json.empty()) check_output_file(options.json);
  std::vector<Contestant> contestants;
  for (const std::string& path : options.models) {
    const Stopwatch loading;
    Contestant contestant{path, load_model(path, options.shapes), 0, {}};
    contestant.load_seconds = loading.seconds();
    contestant.inputs = options.inputs.empty() ? random_inputs(contestant.model, options.seed)
                                               : load_inputs(contestant.model, options.inputs);
    contestants.push_back(std::move(contestant));
  }
  // The budget is for measuring; making the plans takes what it takes.
  const double share = seconds / static_cast<double>(options.thread_counts.size());

  std::vector<Result> results;
  nlohmann::json peaks = nlohmann::json::object();
  for (const int threads : options.thread_counts) {
    // That of the cores together: each runs its own multiply-adds.
    executor::SessionOptions kernels = session_options(options);
    kernels.threads = threads;
    const double peak =
        threads * compiler::measure_peak_flops(schedule::detect_target(options.target));
    peaks[std::to_string(threads)] = peak * 1e-9;
    for (Result& result : measure_all(contestants, kernels, share, peak)) {
      results.push_back(std::move(result));
    }
  }
  if (results.empty()) throw NothingMeasured("no model could be run; see the warnings above");

  Table table({"model", "threads", "median ms", "p90 ms", "spread", "runs", "GMAC", "GFLOP/s",
               "% of peak", "ratio", "open ms", "peak MiB"});
  for (const Result& result : results) {
    // Against the first model at the same thread count: above 1 is slower.
    const auto first = std::find_if(results.begin(), results.end(), [&](const Result& other) {
      return other.threads == result.threads;
    });
    table.add(
        {result.model, std::to_string(result.threads), fixed(result.timing.median * 1e3, 3),
         fixed(result.timing.p90 * 1e3, 3), fixed(result.timing.spread * 100, 0) + " %",
         std::to_string(result.timing.runs), fixed(static_cast<double>(result.macs) * 1e-9, 3),
         fixed(2e-9 * static_cast<double>(result.macs) / result.timing.median, 1),
         fixed(result.peak_share * 100, 1), fixed(result.timing.median / first->timing.median, 3),
         fixed(result.open_seconds * 1e3, 1),
         fixed(static_cast<double>(result.peak_bytes) / (1 << 20), 1)});
  }
  table.print(std::cout);
  if (options.profile) {
    for (const Result& result : results) print_profile(result);
  }
  nlohmann::json json{{"results", nlohmann::json::array()}, {"peak_gflops", peaks}};
  for (const Result& result : results) json["results"].push_back(to_json(result, options.profile));
  write_json(options.json, json);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App& command = *app.add_subcommand("bench", "Measure models against each other");
  command.add_option("models", options->models, "ONNX files; ratios are to the first")
      ->required()
      ->group("Input");
  command.add_option("--input", options->inputs, "[NAME=]FILE of an input; without: random data")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false)
      ->group("Input");
  add_shape_flag(command, *options);
  command.add_option("--threads", options->thread_counts, "Thread counts to measure at: 1,2")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->group("Running");
  command.add_option("--time-budget", options->time_budget, "Time for measuring in all: 30s, 2m")
      ->capture_default_str()
      ->group("Running");
  add_target_flag(command, *options);
  add_kernel_flags(command, *options);
  add_seed_flag(command, *options);
  command.add_flag("--profile", options->profile, "Time every layer too")->group("Output");
  add_json_flag(command, *options);
  add_log_flags(command, *options);
  command.footer(
      "Models are measured in turns (A B A B ...) in one process, caches warm. The share of peak "
      "is "
      "against a fused-multiply-add loop measured in the same process.\n"
      "Example:\n  opsmith bench model.onnx out/model.onnx --threads 1,2 --json bench.json");
  command.callback([options] { run(*options); });
}

}  // namespace opsmith::cli
