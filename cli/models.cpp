#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/table.h"
#include "exporter/exporter.h"
#include "models/reference_models.h"

namespace opsmith::cli {
namespace {

struct BuildOptions : CommonOptions {
  std::string name;
  std::string output;
  models::ModelOptions model;
};

void list() {
  Table table({"model", "what it is:"});
  for (const models::ReferenceModel& model : models::reference_models()) {
    table.add({model.name, model.summary});
  }
  table.print(std::cout);
}

void build(const BuildOptions& options) {
  check_output_file(options.output);
  models::ModelOptions model_options = options.model;
  model_options.seed = options.seed;
  exporter::export_model(models::build_reference_model(options.name, model_options),
                         options.output);
  std::cout << "wrote '" << options.output << "'\n";
}

}  // namespace

void add_models_command(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("models", "Reference models with seeded, well-scaled weights");
  command.require_subcommand(1);
  command.add_subcommand("ls", "List them")->callback(list);

  const auto options = std::make_shared<BuildOptions>();
  CLI::App& make = *command.add_subcommand("build", "Write one as ONNX");
  make.add_option("name", options->name, "Which (see ls)")->required()->group("Input");
  make.add_option("-o,--output", options->output, "File to write")
      ->type_name("FILE")
      ->required()
      ->group("Output");
  make.add_option("--opset", options->model.opset, "ONNX operator set, 9 to 22")
      ->capture_default_str()
      ->group("Model");
  make.add_option("--batch", options->model.batch, "Fixed batch; 0: dynamic")
      ->capture_default_str()
      ->group("Model");
  make.add_option("--size", options->model.size,
                  "Image size or sequence length; 0: what the model is known for")
      ->capture_default_str()
      ->group("Model");
  make.add_option("--divide-width", options->model.width_divisor,
                  "Divide every width, for quick tests")
      ->capture_default_str()
      ->group("Model");
  make.add_option("--classes", options->model.classes, "Outputs of the last layer")
      ->capture_default_str()
      ->group("Model");
  add_log_flags(make, *options);
  add_seed_flag(make, *options);
  make.footer("Example:\n  opsmith models build resnet50 -o resnet50.onnx --opset 17");
  make.callback([options] { build(*options); });
}

}  // namespace opsmith::cli
