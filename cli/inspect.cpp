#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/table.h"
#include "graph/passes/pass.h"
#include "runtime/executor/evaluator.h"
#include "substitute/targets/cost.h"
#include "substitute/targets/target.h"

namespace opsmith::cli {
namespace {

struct InspectOptions : CommonOptions {
  std::string model;
  bool nodes = false;
};

std::string operator_name(const graph::Node& node) {
  return node.domain.empty() ? node.type : node.domain + "." + node.type;
}

std::string shape_text(const graph::Value& value) {
  return value.shape ? graph::to_string(*value.shape) : "?";
}

std::string output_shape(const graph::Graph& graph, const graph::Node& node) {
  const graph::ValueId id = node.output(0);
  return id == graph::kNoValue ? "" : shape_text(graph.value(id));
}

std::string share(int64_t part, int64_t whole) {
  return whole == 0 ? "" : fixed(100.0 * static_cast<double>(part) / static_cast<double>(whole), 1);
}

std::string millions(int64_t count) {
  return count == 0 ? "" : fixed(static_cast<double>(count) * 1e-6, 3);
}

void print_values(const graph::Graph& graph, const std::vector<graph::ValueId>& ids,
                  const char* what) {
  for (const graph::ValueId id : ids) {
    const graph::Value& value = graph.value(id);
    if (value.constant) continue;  // an initializer that old files list as an input
    std::cout << what << "  " << value.name << "  " << to_string(value.type) << " "
              << shape_text(value) << "\n";
  }
}

void print_operators(const graph::Model& model, int64_t total) {
  struct Count {
    int64_t nodes = 0, macs = 0;
  };
  std::map<std::string, Count> counts;
  for (const graph::Node& node : model.graph.nodes) {
    Count& count = counts[operator_name(node)];
    ++count.nodes;
    count.macs += substitute::node_macs(model, node);
  }
  Table table({"operator", "nodes", "MMAC", "%"});
  for (const auto& [name, count] : counts) {
    table.add({name, std::to_string(count.nodes), millions(count.macs),
               count.macs ? share(count.macs, total) : ""});
  }
  std::cout << "\n";
  table.print(std::cout);
}

void print_targets(const graph::Model& model, const std::vector<substitute::Target>& targets,
                   int64_t total) {
  if (targets.empty()) return;
  Table table({"layer", "operator:", "output:", "MMAC", "%", "parameters", "replaceable:"});
  for (const substitute::Target& target : targets) {
    table.add({target.name, target.type,
               output_shape(model.graph, model.graph.nodes[static_cast<size_t>(target.node)]),
               millions(target.macs), share(target.macs, total), std::to_string(target.parameters),
               target.replaceable() ? "yes" : "no: " + target.reason});
  }
  std::cout << "\n";
  table.print(std::cout);
}

void print_nodes(const graph::Model& model) {
  Table table({"node", "operator:", "output:", "MMAC"});
  for (const graph::Node& node : model.graph.nodes) {
    const graph::ValueId id = node.output(0);
    const std::string output = id == graph::kNoValue ? "" : model.graph.value(id).name;
    table.add({node.name.empty() ? output : node.name, operator_name(node),
               output_shape(model.graph, node), millions(substitute::node_macs(model, node))});
  }
  std::cout << "\n";
  table.print(std::cout);
}

void print_functions(const graph::Model& model) {
  for (const graph::Function& function : model.functions) {
    std::cout << "\nfunction  " << function.domain << "." << function.name;
    if (!function.documentation.empty()) std::cout << "\n  " << function.documentation;
    std::cout << "\n";
  }
}

nlohmann::json to_json(const graph::Model& model, const std::vector<substitute::Target>& targets) {
  nlohmann::json json{{"macs", substitute::model_macs(model)},
                      {"parameters", substitute::model_parameters(model)},
                      {"opset", model.opset()},
                      {"ir_version", model.ir_version},
                      {"producer", model.producer}};
  const auto values = [&](const std::vector<graph::ValueId>& ids) {
    nlohmann::json list = nlohmann::json::array();
    for (const graph::ValueId id : ids) {
      const graph::Value& value = model.graph.value(id);
      if (value.constant) continue;
      list.push_back(
          {{"name", value.name}, {"type", to_string(value.type)}, {"shape", shape_text(value)}});
    }
    return list;
  };
  json["inputs"] = values(model.graph.inputs);
  json["outputs"] = values(model.graph.outputs);
  json["nodes"] = nlohmann::json::array();
  for (const graph::Node& node : model.graph.nodes) {
    json["nodes"].push_back({{"name", node.name},
                             {"operator", operator_name(node)},
                             {"output_shape", output_shape(model.graph, node)},
                             {"macs", substitute::node_macs(model, node)}});
  }
  json["targets"] = nlohmann::json::array();
  for (const substitute::Target& target : targets) {
    json["targets"].push_back({{"name", target.name},
                               {"operator", target.type},
                               {"macs", target.macs},
                               {"parameters", target.parameters},
                               {"replaceable", target.replaceable()},
                               {"reason", target.reason}});
  }
  return json;
}

void run(const InspectOptions& options) {
  if (!options.json.empty()) check_output_file(options.json, options.model);
  graph::Model model = load_model(options.model, options.shapes);
  const graph::Graph& graph = model.graph;
  std::cout << options.model << ": opset " << model.opset() << ", IR " << model.ir_version
            << (model.producer.empty() ? "" : ", made by " + model.producer) << "\n";
  print_values(graph, graph.inputs, "input ");
  print_values(graph, graph.outputs, "output");

  // Weights in Constant nodes or behind casts are found only once they are folded.
  const auto evaluator = executor::make_evaluator();
  graph::Model simplified = model;
  graph::simplify(simplified, {evaluator.get()});
  const auto targets = substitute::find_targets(simplified);
  const int64_t macs = substitute::model_macs(simplified);
  std::cout << "nodes   " << graph.nodes.size() << " (" << simplified.graph.nodes.size()
            << " once simplified)\n"
            << "MACs    " << human(static_cast<double>(macs)) << " per sample\n"
            << "params  " << human(static_cast<double>(substitute::model_parameters(simplified)))
            << "\n";
  print_operators(model, macs);
  print_targets(simplified, targets, macs);
  print_functions(model);
  if (options.nodes) print_nodes(model);
  write_json(options.json, to_json(simplified, targets));
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  const auto options = std::make_shared<InspectOptions>();
  CLI::App& command = *app.add_subcommand(
      "inspect", "What is in a model: operators, shapes, cost per layer, what can be replaced");
  command.add_option("model", options->model, "ONNX file")->required()->group("Input");
  add_shape_flag(command, *options);
  command.add_flag("--nodes", options->nodes, "List every node too")->group("Output");
  add_json_flag(command, *options);
  add_log_flags(command, *options);
  command.footer("Example:\n  opsmith inspect model.onnx --shape x:1x3x48x320");
  command.callback([options] { run(*options); });
}

}  // namespace opsmith::cli
