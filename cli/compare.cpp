#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/inputs.h"
#include "cli/table.h"
#include "runtime/executor/session.h"
#include "support/error.h"
#include "support/log.h"
#include "support/tensor_files.h"

namespace opsmith::cli {
namespace {

struct CompareOptions : CommonOptions {
  std::string first, second;
  std::vector<std::string> inputs, recorded;
  double tolerance = 1e-4;
};

/// Where values to compare come from.
class Source {
 public:
  virtual ~Source() = default;
  /// Outputs, and the named values besides.
  virtual Tensors values(const std::vector<std::string>& keep) const = 0;
  /// Can this value be had?
  virtual bool makes(const std::string& name) const = 0;
};

/// A model that is run; a session per set of kept values.
class Probe : public Source {
 public:
  Probe(graph::Model model, Tensors inputs, executor::SessionOptions options)
      : model_(std::move(model)), inputs_(std::move(inputs)), options_(std::move(options)) {
    for (const graph::Node& node : model_.graph.nodes) {
      for (const graph::ValueId id : node.outputs) {
        if (id != graph::kNoValue) made_.insert(model_.graph.value(id).name);
      }
    }
  }

  Tensors values(const std::vector<std::string>& keep) const override {
    executor::SessionOptions options = options_;
    options.keep = keep;
    return executor::Session(model_, kernel_provider(), options).run(inputs_);
  }
  bool makes(const std::string& name) const override { return made_.count(name) != 0; }
  const graph::Model& model() const { return model_; }

 private:
  graph::Model model_;
  Tensors inputs_;
  executor::SessionOptions options_;
  std::set<std::string> made_;
};

/// What another runtime gave, from files.
class Recording : public Source {
 public:
  explicit Recording(Tensors values) : values_(std::move(values)) {}

  Tensors values(const std::vector<std::string>&) const override { return values_; }
  bool makes(const std::string& name) const override { return values_.count(name) != 0; }

 private:
  Tensors values_;
};

/// A value that a node of the first model makes and the second source has under the same name.
struct CommonValue {
  std::string name;
  std::string node;  ///< of the first model
};

/// In the order in which the first model computes them.
std::vector<CommonValue> common_values(const graph::Model& a, const Source& b) {
  std::vector<CommonValue> values;
  for (const graph::Node& node : a.graph.nodes) {
    for (const graph::ValueId id : node.outputs) {
      if (id == graph::kNoValue) continue;
      const std::string& name = a.graph.value(id).name;
      if (b.makes(name)) values.push_back({name, describe(node)});
    }
  }
  return values;
}

struct Parting {
  CommonValue value;
  double error = 0;
};

/// The first common value whose error is above the tolerance, found by looking at a few evenly
/// spread values at a time and going on between the last that agrees and the first that does not:
/// logarithmic in the number of layers, and never all tensors in memory at once.
std::optional<Parting> first_parting(const Source& a, const Source& b,
                                     const std::vector<CommonValue>& values, double tolerance) {
  constexpr size_t kAtATime = 8;
  size_t begin = 0, end = values.size();
  std::optional<Parting> parting;
  while (begin < end) {
    std::vector<size_t> places;
    const size_t count = std::min(kAtATime, end - begin);
    for (size_t i = 1; i <= count; ++i) places.push_back(begin + (end - begin) * i / count - 1);
    std::vector<std::string> names;
    for (const size_t place : places) names.push_back(values[place].name);
    const Tensors left = a.values(names), right = b.values(names);
    bool parted = false;
    for (const size_t place : places) {
      const double error =
          relative_error(right.at(values[place].name), left.at(values[place].name));
      if (!(error <= tolerance)) {
        parting = Parting{values[place], error};
        end = place;
        parted = true;
        break;
      }
      begin = place + 1;
    }
    if (!parted) break;
  }
  return parting;
}

/// The same random data for both models, by name.
void share_inputs(const Tensors& from, Tensors& to, const CompareOptions& options) {
  for (auto& [name, tensor] : to) {
    const auto found = from.find(name);
    if (found == from.end() || found->second.shape() != tensor.shape()) {
      throw UserError("the inputs of '" + options.first + "' and '" + options.second +
                      "' differ ('" + name + "'); give --shape or --input");
    }
    tensor = found->second;
  }
}

/// Values by name; files that give no names hold outputs of the model.
Tensors load_recording(const graph::Model& model, const std::vector<std::string>& recorded) {
  std::vector<TensorSource> sources;
  for (const std::string& text : recorded) sources.push_back(parse_tensor_source(text));
  std::vector<std::string> names;
  for (const graph::ValueId id : model.graph.outputs) {
    names.push_back(model.graph.value(id).name);
  }
  return load_tensors(sources, names);
}

std::unique_ptr<Source> second_source(const CompareOptions& options, const graph::Model& first,
                                      const Tensors& first_inputs) {
  if (options.second.empty() == options.recorded.empty()) {
    throw UserError("compare wants one of a second model and --recorded outputs");
  }
  if (!options.recorded.empty()) {
    if (options.inputs.empty()) {
      throw UserError("--recorded outputs belong to inputs; give those with --input");
    }
    return std::make_unique<Recording>(load_recording(first, options.recorded));
  }
  graph::Model model = load_model(options.second, options.shapes);
  Tensors inputs = options.inputs.empty() ? random_inputs(model, options.seed)
                                          : load_inputs(model, options.inputs);
  if (options.inputs.empty()) share_inputs(first_inputs, inputs, options);
  return std::make_unique<Probe>(std::move(model), std::move(inputs), session_options(options));
}

void run(const CompareOptions& options) {
  if (!options.json.empty()) check_output_file(options.json);
  graph::Model first = load_model(options.first, options.shapes);
  Tensors inputs = options.inputs.empty() ? random_inputs(first, options.seed)
                                          : load_inputs(first, options.inputs);
  const std::unique_ptr<Source> second = second_source(options, first, inputs);
  const Probe a(std::move(first), std::move(inputs), session_options(options));
  const Source& b = *second;
  const std::string second_name =
      options.second.empty() ? "the recording" : "'" + options.second + "'";

  const Tensors left = a.values({}), right = b.values({});
  Table table({"output", "shape:", "relative error", "verdict:"});
  nlohmann::json outputs = nlohmann::json::array();
  bool agree = true;
  size_t compared = 0;
  for (const auto& [name, tensor] : left) {
    const auto found = right.find(name);
    if (found == right.end()) {
      log_warning(second_name + " has no output '" + name + "'");
      agree = false;
      continue;
    }
    ++compared;
    const double error = relative_error(found->second, tensor);
    const bool same = error <= options.tolerance;
    agree = agree && same;
    std::ostringstream text;
    text << std::scientific << std::setprecision(2) << error;
    table.add({name, to_string(tensor.shape()), text.str(), same ? "agrees" : "differs"});
    outputs.push_back({{"name", name}, {"relative_error", error}, {"agrees", same}});
  }
  if (compared == 0) {
    throw UserError("'" + options.first + "' and " + second_name +
                    " have no output of the same name; there is nothing to compare");
  }
  table.print(std::cout);

  nlohmann::json json{{"agree", agree}, {"tolerance", options.tolerance}, {"outputs", outputs}};
  std::string where;
  if (!agree) {
    const auto parting = first_parting(a, b, common_values(a.model(), b), options.tolerance);
    if (parting) {
      where = "; they part first at '" + parting->value.name + "', made by " + parting->value.node +
              " of '" + options.first + "'";
      json["first_parting"] = {{"value", parting->value.name},
                               {"node", parting->value.node},
                               {"relative_error", parting->error}};
      std::cout << "first parting: '" << parting->value.name << "' (" << parting->value.node
                << "), relative error " << parting->error << "\n";
    }
  }
  write_json(options.json, json);
  if (!agree) {
    std::ostringstream tolerance;
    tolerance << options.tolerance;
    throw GateMissed("the models differ by more than " + tolerance.str() + where);
  }
}

}  // namespace

void add_compare_command(CLI::App& app) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App& command = *app.add_subcommand(
      "compare", "Do two models agree; if not, the first layer where they part");
  command.add_option("first", options->first, "ONNX file that is right")
      ->required()
      ->group("Input");
  command.add_option("second", options->second, "ONNX file to check")->group("Input");
  command
      .add_option("--recorded", options->recorded,
                  "Instead of a second model: what another runtime gave, outputs and any other "
                  "values by name; .npz, or NAME=FILE (repeatable)")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false)
      ->group("Input");
  command.add_option("--input", options->inputs, "[NAME=]FILE of an input; without: random data")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false)
      ->group("Input");
  add_shape_flag(command, *options);
  command.add_option("--tolerance", options->tolerance, "Largest max|a-b| / max|a| of an output")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group("Running");
  add_threads_flag(command, *options);
  // What is asked is whether the models agree, not whether kernels do.
  options->exact = true;
  add_kernel_flags(command, *options);
  add_seed_flag(command, *options);
  add_json_flag(command, *options);
  add_log_flags(command, *options);
  command.footer(
      "Layers are matched by the names of their outputs. Exit code 0: they agree, 3: they differ.\n"
      "Examples:\n  opsmith compare model.onnx out/model.onnx --input data.npz --tolerance 1e-3\n"
      "  opsmith compare model.onnx --input data.npz --recorded outputs.npz");
  command.callback([options] { run(*options); });
}

}  // namespace opsmith::cli
