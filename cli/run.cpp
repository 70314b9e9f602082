#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/inputs.h"
#include "cli/table.h"
#include "runtime/executor/session.h"
#include "support/tensor_files.h"

namespace opsmith::cli {
namespace {

struct RunOptions : CommonOptions {
  std::string model;
  std::vector<std::string> inputs;
  std::string output;
};

void run(const RunOptions& options) {
  if (!options.output.empty()) check_output_file(options.output, options.model);
  graph::Model model = load_model(options.model, options.shapes);
  const Tensors inputs = options.inputs.empty() ? random_inputs(model, options.seed)
                                                : load_inputs(model, options.inputs);
  const executor::Session session(std::move(model), kernel_provider(), session_options(options));
  const Tensors outputs = session.run(inputs);

  Table table({"output", "type:", "shape:"});
  for (const auto& [name, tensor] : outputs) {
    table.add({name, to_string(tensor.type()), to_string(tensor.shape())});
  }
  if (!options.output.empty()) save_tensors(options.output, outputs);
  table.print(std::cout);
}

}  // namespace

void add_run_command(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App& command = *app.add_subcommand("run", "Run a model once on given inputs");
  command.add_option("model", options->model, "ONNX file")->required()->group("Input");
  command
      .add_option(
          "--input", options->inputs,
          "[NAME=]FILE of an input, repeatable; .npy, .npz, .pb, IDX (also .gz) or a folder "
          "with input_0.pb; FILE[0:8] takes the first 8 samples. Without: random data")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false)
      ->group("Input");
  add_shape_flag(command, *options);
  command.add_option("-o,--output", options->output, "Every output by name into one .npz")
      ->type_name("FILE")
      ->group("Output");
  add_log_flags(command, *options);
  add_threads_flag(command, *options);
  add_target_flag(command, *options);
  add_kernel_flags(command, *options);
  add_seed_flag(command, *options);
  command.footer("Example:\n  opsmith run model.onnx --input image=cat.npy --output result.npz");
  command.callback([options] { run(*options); });
}

}  // namespace opsmith::cli
