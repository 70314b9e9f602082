#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/table.h"
#include "exporter/exporter.h"
#include "exporter/pytorch/module.h"
#include "graph/passes/pass.h"
#include "runtime/executor/evaluator.h"
#include "support/error.h"

namespace opsmith::cli {
namespace {

struct ExportCommandOptions : CommonOptions {
  std::string model;
  std::string output;
  std::string format = "onnx";
  bool inline_functions = false;
  bool simplify = false;
  bool dry_run = false;
};

void run(const ExportCommandOptions& options) {
  check_output_file(options.output, options.model);
  graph::Model model = load_model(options.model, options.shapes);
  if (options.simplify) {
    const auto evaluator = executor::make_evaluator();
    Table table({"pass", "changes"});
    for (const graph::PassCount& count : graph::simplify(model, {evaluator.get()})) {
      table.add({count.name, std::to_string(count.changes)});
    }
    table.print(std::cout);
  }
  if (options.format == "pytorch") {
    if (options.dry_run) {
      std::cout << "would write '" << options.output
                << "': " << exporter::pytorch_module(model, "weights.npz").source.size()
                << " bytes\n";
      return;
    }
    exporter::export_pytorch(model, options.output);
    std::cout << "wrote '" << options.output << "' and its weights beside it\n";
    return;
  }
  exporter::ExportOptions export_options;
  export_options.inline_functions = options.inline_functions;
  if (options.dry_run) {
    std::cout << "would write '" << options.output
              << "': " << exporter::serialize_model(model, export_options).size() << " bytes\n";
    return;
  }
  exporter::export_model(model, options.output, export_options);
  std::cout << "wrote '" << options.output << "'\n";
}

}  // namespace

void add_export_command(CLI::App& app) {
  const auto options = std::make_shared<ExportCommandOptions>();
  CLI::App& command = *app.add_subcommand("export", "Write a model for other runtimes");
  command.add_option("model", options->model, "ONNX file")->required()->group("Input");
  add_shape_flag(command, *options);
  command.add_option("-o,--output", options->output, "File to write")
      ->type_name("FILE")
      ->required()
      ->group("Output");
  command.add_option("--format", options->format, "What to write")
      ->check(CLI::IsMember({"onnx", "pytorch"}))
      ->capture_default_str()
      ->group("Output");
  command
      .add_flag("--inline", options->inline_functions,
                "Write the bodies of functions as plain nodes")
      ->group("Output");
  command
      .add_flag("--simplify", options->simplify,
                "Fold constants and batch normalisations, remove dead code; prints what was done")
      ->group("Output");
  command.add_flag("--dry-run", options->dry_run, "Do everything but writing")->group("Output");
  add_log_flags(command, *options);
  command.footer(
      "Example:\n  opsmith export out/model.onnx -o plain.onnx --inline\n"
      "  opsmith export out/model.onnx -o model.py --format pytorch");
  command.callback([options] { run(*options); });
}

}  // namespace opsmith::cli
