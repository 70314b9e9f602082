#include <cstdio>
#include <nlohmann/json.hpp>

#include "search/report/report.h"

namespace opsmith::search {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const ModelMeasure& measure) {
  Json json;
  if (measure.accuracy) json["accuracy"] = *measure.accuracy;
  json["macs"] = measure.macs;
  json["parameters"] = measure.parameters;
  json["latency_ms"] = Json::object();
  for (const auto& [threads, milliseconds] : measure.latency_ms) {
    json["latency_ms"][std::to_string(threads)] = milliseconds;
  }
  return json;
}

Json to_json(const LayerChoice& layer) {
  Json json;
  json["node"] = layer.node;
  json["operator"] = layer.operator_name;
  json["formula"] = layer.formula;
  json["reason"] = layer.reason;
  json["macs"] = {{"before", layer.macs_before}, {"after", layer.macs_after}};
  json["parameters"] = {{"before", layer.parameters_before}, {"after", layer.parameters_after}};
  json["milliseconds"] = {{"before", layer.milliseconds_before},
                          {"after", layer.milliseconds_after}};
  json["fit_error"] = layer.fit_error;
  json["predicted_loss"] = layer.predicted_loss;
  return json;
}

/// As a shell takes it.
std::string quoted(const std::string& argument) {
  const std::string plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:,@%";
  if (!argument.empty() && argument.find_first_not_of(plain) == std::string::npos) return argument;
  std::string result = "'";
  for (const char c : argument) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// As the command line takes it: "40%", "26000000".
std::string to_text(const Limit& limit) {
  char text[64];
  std::snprintf(text, sizeof text, limit.share ? "%.10g%%" : "%.10g",
                limit.share ? 100 * limit.value : limit.value);
  return text;
}

Json to_json(const OptimizeOptions& options) {
  Json json;
  if (options.max_macs) json["max_macs"] = to_text(*options.max_macs);
  if (options.max_parameters) json["max_parameters"] = to_text(*options.max_parameters);
  if (options.max_latency) json["max_latency"] = to_text(*options.max_latency);
  if (options.max_accuracy_loss) json["max_accuracy_loss"] = *options.max_accuracy_loss;
  json["single_operator"] = options.single_operator;
  json["exclude"] = options.exclude;
  json["threads"] = options.threads;
  json["seed"] = options.seed;
  json["time_budget_seconds"] = options.time_budget_seconds;
  json["distillation"] = {{"epochs", options.distillation.epochs},
                          {"rate", options.distillation.rate},
                          {"batch", options.distillation.batch},
                          {"loss", to_string(options.distillation.loss)}};
  json["output_folder"] = options.output_folder;
  return json;
}

Json describe_tensors(const std::map<std::string, Tensor>& tensors) {
  Json json = Json::object();
  for (const auto& [name, tensor] : tensors) json[name] = tensor.shape();
  return json;
}

}  // namespace

std::string json_report(const graph::Model& model, const OptimizeData& data,
                        const OptimizeOptions& options, const OptimizeResult& result) {
  Json json;
  json["model"] = model.source;
  json["original"] = to_json(result.original);
  json["optimized"] = to_json(result.optimized);
  json["agreement"] = result.agreement;
  json["divergence"] = result.divergence;
  json["divergence_measured_on"] = data.evaluation.empty() ? "held-out calibration" : "evaluation";
  json["predicted_divergence"] = result.predicted_divergence;
  json["held_out_divergence"] = result.held_out_divergence;
  if (result.distillation) {
    const DistillationReport& report = *result.distillation;
    json["distillation"] = {{"loss", report.loss},
                            {"rate", report.rate},
                            {"held_out_divergence", report.held_out},
                            {"best_epoch", report.best_epoch},
                            {"steps", report.steps},
                            {"seconds", report.seconds},
                            {"samples_per_second", report.samples_per_second},
                            {"gflops", report.gflops},
                            {"peak_share", report.peak_share}};
  }
  json["gate_met"] = result.gate_met;
  json["gate_message"] = result.gate_message;
  json["seconds"] = result.seconds;
  json["calibration"] = describe_tensors(data.calibration);
  json["evaluation"] = describe_tensors(data.evaluation);
  json["options"] = to_json(options);
  json["command"] = command_line(model, data, options);
  json["layers"] = Json::array();
  for (const LayerChoice& layer : result.layers) json["layers"].push_back(to_json(layer));
  return json.dump(2) + "\n";
}

std::string json_configuration(const graph::Model& model, const OptimizeOptions& options) {
  Json json = to_json(options);
  json["model"] = model.source;
  json["arguments"] = options.arguments;
  return json.dump(2) + "\n";
}

std::string command_line(const graph::Model& model, const OptimizeData& data,
                         const OptimizeOptions& options) {
  if (!options.arguments.empty()) {
    std::string line = "opsmith optimize";
    for (const std::string& argument : options.arguments) line += " " + quoted(argument);
    return line;
  }
  std::string line = "opsmith optimize " + model.source + " -o " + options.output_folder;
  if (options.max_macs) line += " --max-flops " + to_text(*options.max_macs);
  if (options.max_parameters) line += " --max-params " + to_text(*options.max_parameters);
  if (options.max_latency) line += " --max-latency " + to_text(*options.max_latency);
  line += " --calibration CALIBRATION";
  if (!data.evaluation.empty()) line += " --evaluation EVALUATION";
  if (data.labels) line += " --labels LABELS";
  if (options.max_accuracy_loss) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", *options.max_accuracy_loss);
    line += std::string(" --max-accuracy-loss ") + text;
  }
  if (options.single_operator) line += " --single-operator";
  for (const std::string& name : options.exclude) line += " --exclude '" + name + "'";
  line += " --threads " + std::to_string(options.threads);
  line += " --seed " + std::to_string(options.seed);
  return line;
}

}  // namespace opsmith::search
