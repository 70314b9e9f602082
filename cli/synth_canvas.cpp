#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/synth.h"
#include "search/synthesis/canvas/designs.h"
#include "search/synthesis/canvas/pruning.h"
#include "search/synthesis/canvas/realisation.h"
#include "search/synthesis/canvas/sampler.h"
#include "support/progress.h"

namespace opsmith::cli {

namespace {

using namespace synthesis::canvas;

nlohmann::json widths(const Sample& sample) {
  nlohmann::json layers = nlohmann::json::array();
  for (const auto& values : sample.solution.values) {
    nlohmann::json layer = nlohmann::json::object();
    for (size_t v = 0; v < values.size(); ++v)
      layer[variable_name(static_cast<size_t>(sample.solution.variables[v]))] = values[v];
    layers.push_back(layer);
  }
  return layers;
}

nlohmann::json designs_in(const Kernel& kernel) {
  nlohmann::json names = nlohmann::json::array();
  for (const KnownDesign& design : known_designs())
    if (design.found_in(kernel)) names.push_back(design.name);
  return names;
}

nlohmann::json to_json(const Sample& sample, const std::vector<substitute::LayerShape>& layers) {
  const Targets targets(layers, sample.groups);
  return {{"formula", formula(sample.kernel)},
          {"text", print(realise(sample.kernel, targets, sample.solution, 0))},
          {"groups", sample.groups},
          {"widths", widths(sample)},
          {"primitives", sample.kernel.size() - 1},
          {"macs", sample.solution.macs},
          {"parameters", sample.solution.parameters},
          {"designs", designs_in(sample.kernel)}};
}

nlohmann::json by_type(const auto& counts) {
  nlohmann::json object = nlohmann::json::object();
  for (int i = 0; i < primitive_types; ++i)
    object[to_string(static_cast<Primitive>(i))] = counts[static_cast<size_t>(i)];
  return object;
}

nlohmann::json to_json(const SamplingResult& result) {
  nlohmann::json rules = nlohmann::json::object(), designs = nlohmann::json::object();
  for (size_t i = 0; i < result.pruned.size(); ++i)
    rules[pruning_rules()[i].name] = result.pruned[i];
  for (size_t i = 0; i < result.designs.size(); ++i)
    designs[known_designs()[i].name] = result.designs[i];
  return {{"trials", result.trials},
          {"trials_per_second", static_cast<double>(result.trials) / result.seconds},
          {"distinct", result.distinct},
          {"distinct_per_second", result.distinct_per_second()},
          {"seconds", result.seconds},
          {"dead_ends", result.dead_ends},
          {"unsolved", result.unsolved},
          {"repeated", result.repeated},
          {"steps_by_type",
           {{"taken", by_type(result.types.taken)}, {"expected", by_type(result.types.expected)}}},
          {"primitives_in_kernels", by_type(result.in_kernels)},
          {"steps_pruned_by_rule", rules},
          {"known_designs", designs}};
}

}  // namespace

void synth_canvas(const SynthOptions& options) {
  const std::vector<substitute::LayerShape> layers = synth_layers(options);
  SamplingOptions sampling;
  sampling.seconds = parse_duration(options.time_budget);
  if (options.operators > 0) sampling.kernels = options.operators;
  sampling.threads = options.threads;
  sampling.seed = options.seed;
  sampling.most_kept = options.keep;
  catch_interrupt();
  SamplingResult result = sample(layers, options.kernel_limits, sampling);
  std::sort(result.samples.begin(), result.samples.end(),
            [](const auto& a, const auto& b) { return a.solution.macs < b.solution.macs; });
  nlohmann::json kernels = nlohmann::json::array();
  size_t number = 0;
  double original_macs = 0, original_parameters = 0;
  for (const Sample& sample : result.samples) {
    const Targets targets(layers, sample.groups);
    original_macs = targets.original_macs();
    original_parameters = targets.original_parameters();
    std::cout << formula(sample.kernel) << "\n  " << human(sample.solution.macs) << " MACs ("
              << fixed(100 * sample.solution.macs / original_macs, 1) << " %), "
              << human(sample.solution.parameters) << " parameters ("
              << fixed(100 * sample.solution.parameters / original_parameters, 1)
              << " %), g = " << sample.groups << ", widths " << widths(sample).dump() << "\n";
    if (options.text) std::cout << print(realise(sample.kernel, targets, sample.solution, 0));
    draw_operator(options, realise(sample.kernel, targets, sample.solution, 0), ++number);
    if (!options.json.empty()) kernels.push_back(to_json(sample, layers));
  }
  for (size_t i = 0; i < result.designs.size(); ++i)
    std::cout << known_designs()[i].name << ": " << result.designs[i] << " kernels\n";
  std::cout << result.distinct << " distinct kernels in " << result.trials << " trials, "
            << fixed(result.seconds, 1) << " s: " << fixed(result.distinct_per_second(), 0)
            << " kernels/s\n";
  nlohmann::json document = to_json(result);
  document["space"] = options.space;
  document["threads"] = options.threads;
  document["seed"] = options.seed;
  document["limits"] = {{"least_primitives", options.kernel_limits.least_primitives},
                        {"most_primitives", options.kernel_limits.most_primitives},
                        {"most_elements", options.kernel_limits.most_elements},
                        {"neighbours", options.kernel_limits.neighbours},
                        {"weights", options.kernel_limits.weights},
                        {"most_macs", options.kernel_limits.most_macs},
                        {"most_parameters", options.kernel_limits.most_parameters}};
  document["original"] = {{"macs", original_macs}, {"parameters", original_parameters}};
  document["operators"] = kernels;
  write_json(options.json, document);
}

}  // namespace opsmith::cli
