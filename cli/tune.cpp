#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/inputs.h"
#include "cli/table.h"
#include "search/tuning/tune.h"
#include "support/progress.h"

namespace opsmith::cli {
namespace {

struct TuneFlags : CommonOptions {
  std::string model;
  std::vector<std::string> inputs;
  std::string time_budget = "5m";
  std::string database;
};

nlohmann::json to_json(const search::TunedKernel& kernel) {
  return {{"node", kernel.node},
          {"uses", kernel.uses},
          {"macs", kernel.multiply_accumulates},
          {"variant_before", kernel.variant_before},
          {"variant_after", kernel.variant_after},
          {"milliseconds_before", kernel.seconds_before * 1e3},
          {"milliseconds_after", kernel.seconds_after * 1e3},
          {"measured", kernel.measured}};
}

void tune(const TuneFlags& flags) {
  if (!flags.json.empty()) check_output_file(flags.json);
  search::TuneOptions options;
  options.seconds = parse_duration(flags.time_budget);
  options.session = session_options(flags);
  // The yardstick is what runs without measurements.
  options.session.schedules = nullptr;
  options.seed = flags.seed;
  const graph::Model model = load_model(flags.model, flags.shapes);
  const Tensors inputs =
      flags.inputs.empty() ? random_inputs(model, flags.seed) : load_inputs(model, flags.inputs);
  schedule::ScheduleDatabase database(flags.database);
  catch_interrupt();
  const std::vector<search::TunedKernel> kernels =
      search::tune(model, inputs, kernel_provider(), database, options);

  Table table({"first layer", "uses", "variant:", "rule ms", "best ms", "ratio", "measured"});
  double before = 0;
  double after = 0;
  int64_t measured = 0;
  nlohmann::json rows = nlohmann::json::array();
  for (const search::TunedKernel& kernel : kernels) {
    const std::string variant = kernel.variant_before == kernel.variant_after
                                    ? kernel.variant_after
                                    : kernel.variant_before + " -> " + kernel.variant_after;
    table.add({kernel.node, std::to_string(kernel.uses), variant,
               fixed(kernel.seconds_before * 1e3, 4), fixed(kernel.seconds_after * 1e3, 4),
               fixed(kernel.seconds_after / kernel.seconds_before, 3),
               std::to_string(kernel.measured)});
    const auto uses = static_cast<double>(kernel.uses);
    before += uses * kernel.seconds_before;
    after += uses * kernel.seconds_after;
    measured += kernel.measured;
    rows.push_back(to_json(kernel));
  }
  table.print(std::cout);
  std::cout << "kernels together: " << fixed(before * 1e3, 3) << " ms by rule, "
            << fixed(after * 1e3, 3) << " ms tuned; " << measured << " schedules measured\n";
  write_json(flags.json, {{"kernels", rows},
                          {"milliseconds_before", before * 1e3},
                          {"milliseconds_after", after * 1e3},
                          {"measured", measured}});
}

}  // namespace

void add_tune_command(CLI::App& app) {
  const auto flags = std::make_shared<TuneFlags>();
  CLI::App& command =
      *app.add_subcommand("tune", "Search faster schedules for the kernels of a model");
  command.add_option("model", flags->model, "ONNX file")->required()->group("Input");
  command.add_option("--input", flags->inputs, "[NAME=]FILE of an input; without: random data")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false)
      ->group("Input");
  add_shape_flag(command, *flags);
  add_threads_flag(command, *flags);
  add_target_flag(command, *flags);
  add_kernel_flags(command, *flags);
  command.add_option("--time-budget", flags->time_budget, "Time for measuring: 90s, 10m")
      ->capture_default_str()
      ->group("Running");
  command
      .add_option("--database", flags->database,
                  "Another database than $XDG_CACHE_HOME/opsmith/schedules.db")
      ->type_name("FILE")
      ->group("Running");
  add_seed_flag(command, *flags);
  add_json_flag(command, *flags);
  add_log_flags(command, *flags);
  command.footer(
      "Every measurement is kept in the database, so that a later call goes on where this one "
      "stopped; Ctrl-C ends it and keeps the best so far. Sessions take the best by themselves.\n"
      "Example:\n  opsmith tune model.onnx --threads 2 --time-budget 10m");
  command.callback([flags] { tune(*flags); });
}

}  // namespace opsmith::cli
