#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/inputs.h"
#include "cli/table.h"
#include "runtime/executor/session.h"
#include "support/error.h"
#include "support/log.h"

namespace opsmith::cli {
namespace {

struct CompareOptions : CommonOptions {
  std::string first, second;
  std::vector<std::string> inputs;
  double tolerance = 1e-4;
};

/// Computes outputs and named values of one model; a session per set of kept values.
class Probe {
 public:
  Probe(graph::Model model, Tensors inputs, int threads)
      : model_(std::move(model)), inputs_(std::move(inputs)), threads_(threads) {}

  Tensors values(const std::vector<std::string>& keep) const {
    executor::SessionOptions options;
    options.threads = threads_;
    options.keep = keep;
    return executor::Session(model_, kernel_provider(), options).run(inputs_);
  }
  const graph::Model& model() const { return model_; }

 private:
  graph::Model model_;
  Tensors inputs_;
  int threads_;
};

/// A value that nodes of both models make under the same name.
struct CommonValue {
  std::string name;
  std::string node;  ///< of the first model
};

/// In the order in which the first model computes them.
std::vector<CommonValue> common_values(const graph::Model& a, const graph::Model& b) {
  const std::vector<int32_t> producers = b.graph.producers();
  std::map<std::string, bool> made_in_b;
  for (size_t i = 0; i < b.graph.value_count(); ++i) {
    made_in_b[b.graph.value(static_cast<graph::ValueId>(i)).name] = producers[i] >= 0;
  }
  std::vector<CommonValue> values;
  for (const graph::Node& node : a.graph.nodes) {
    for (const graph::ValueId id : node.outputs) {
      if (id == graph::kNoValue) continue;
      const std::string& name = a.graph.value(id).name;
      const auto found = made_in_b.find(name);
      if (found != made_in_b.end() && found->second) values.push_back({name, describe(node)});
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
std::optional<Parting> first_parting(const Probe& a, const Probe& b,
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

void run(const CompareOptions& options) {
  if (!options.json.empty()) check_output_file(options.json);
  graph::Model first = load_model(options.first, options.shapes);
  graph::Model second = load_model(options.second, options.shapes);
  const auto inputs = [&](const graph::Model& model) {
    return options.inputs.empty() ? random_inputs(model, options.seed)
                                  : load_inputs(model, options.inputs);
  };
  Tensors first_inputs = inputs(first), second_inputs = inputs(second);
  if (options.inputs.empty()) {
    // The same random data for both, by name.
    for (auto& [name, tensor] : second_inputs) {
      const auto found = first_inputs.find(name);
      if (found == first_inputs.end() || found->second.shape() != tensor.shape()) {
        throw UserError("the inputs of '" + options.first + "' and '" + options.second +
                        "' differ ('" + name + "'); give --shape or --input");
      }
      tensor = found->second;
    }
  }
  const Probe a(std::move(first), std::move(first_inputs), options.threads);
  const Probe b(std::move(second), std::move(second_inputs), options.threads);

  const Tensors left = a.values({}), right = b.values({});
  Table table({"output", "shape:", "relative error", "verdict:"});
  nlohmann::json outputs = nlohmann::json::array();
  bool agree = true;
  size_t compared = 0;
  for (const auto& [name, tensor] : left) {
    const auto found = right.find(name);
    if (found == right.end()) {
      log_warning("'" + options.second + "' has no output '" + name + "'");
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
    throw UserError("'" + options.first + "' and '" + options.second +
                    "' have no output of the same name; there is nothing to compare");
  }
  table.print(std::cout);

  nlohmann::json json{{"agree", agree}, {"tolerance", options.tolerance}, {"outputs", outputs}};
  std::string where;
  if (!agree) {
    const auto parting =
        first_parting(a, b, common_values(a.model(), b.model()), options.tolerance);
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
  command.add_option("second", options->second, "ONNX file to check")->required()->group("Input");
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
  add_seed_flag(command, *options);
  add_json_flag(command, *options);
  add_log_flags(command, *options);
  command.footer(
      "Layers are matched by the names of their outputs. Exit code 0: they agree, 3: they differ.\n"
      "Example:\n  opsmith compare model.onnx out/model.onnx --input data.npz --tolerance 1e-3");
  command.callback([options] { run(*options); });
}

}  // namespace opsmith::cli
