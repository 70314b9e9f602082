#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/synth.h"
#include "search/synthesis/canonical_rate.h"
#include "search/synthesis/sampler.h"
#include "substitute/operator/drawing.h"
#include "support/error.h"
#include "support/file.h"
#include "support/progress.h"

namespace opsmith::cli {
namespace {

/// Infinite limits are null: JSON has no infinity.
nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

nlohmann::json count(int value) {
  return value == synthesis::Limits::unlimited ? nlohmann::json(nullptr) : nlohmann::json(value);
}

nlohmann::json to_json(const synthesis::Limits& limits) {
  return {{"depth", limits.depth},
          {"tensors", limits.tensors},
          {"reductions", limits.reductions},
          {"splits", count(limits.splits)},
          {"merges", count(limits.merges)},
          {"shifts", count(limits.shifts)},
          {"strides", count(limits.strides)},
          {"unfolds", count(limits.unfolds)},
          {"expands", limits.expands},
          {"reshape_chain", limits.reshape_chain},
          {"finalizations", limits.finalizations},
          {"powers", limits.powers},
          {"size_variables", limits.size_variables},
          {"size_degree", limits.size_degree},
          {"reduction_multiplier", limits.reduction_multiplier},
          {"pooling", limits.pooling},
          {"least_weight", limits.least_weight},
          {"largest_window", limits.largest_window},
          {"largest_stride", limits.largest_stride},
          {"unfold_ratio", limits.unfold_ratio},
          {"shift_block", limits.shift_block},
          {"memory", limits.memory},
          {"odd_windows", limits.odd_windows},
          {"least_macs", limits.least_macs},
          {"most_macs", number(limits.most_macs)},
          {"most_parameters", number(limits.most_parameters)},
          {"canonical", limits.canonical},
          {"approximate", limits.approximate},
          {"shape_distance", limits.shape_distance}};
}

nlohmann::json to_json(const synthesis::SamplingResult& result) {
  nlohmann::json rules = nlohmann::json::object();
  for (size_t i = 0; i < synthesis::rules().size(); ++i)
    rules[synthesis::rules()[i].name] = result.counters.by_rule[i];
  nlohmann::json operators = nlohmann::json::array();
  for (const synthesis::Sample& sample : result.samples)
    operators.push_back({{"formula", synthesis::formula(sample.found.graph)},
                         {"text", substitute::print(sample.found.graph)},
                         {"primitives", sample.found.primitives},
                         {"macs", sample.cost.macs},
                         {"parameters", sample.cost.parameters}});
  return {{"trials", result.trials},
          {"trials_per_second", result.trials_per_second()},
          {"distinct", result.samples.size()},
          {"distinct_per_second", result.distinct_per_second()},
          {"seconds", result.seconds},
          {"dead_ends", result.dead_ends},
          {"over_limits", result.over_limits},
          {"repeated", result.repeated},
          {"states", result.states},
          {"moves_offered", result.counters.offered},
          {"moves_pruned",
           {{"by_rule", rules},
            {"by_shape_distance", result.counters.by_distance},
            {"by_cost", result.counters.by_cost}}},
          {"operators", operators}};
}

/// The same run without the shape distance, and how many times fewer distinct operators a trial
/// finds then.
nlohmann::json compare_pruning(const synthesis::Problem& problem, synthesis::Limits limits,
                               const synthesis::SamplingOptions& sampling,
                               const synthesis::SamplingResult& with) {
  limits.shape_distance = false;
  const synthesis::SamplingResult without = synthesis::sample(problem, limits, sampling);
  const auto rate = [](const synthesis::SamplingResult& result) {
    return static_cast<double>(result.samples.size()) / static_cast<double>(result.trials);
  };
  std::cout << "without shape distance: " << without.samples.size() << " distinct operators in "
            << without.trials << " trials";
  if (!without.samples.empty())
    std::cout << ", " << fixed(rate(with) / rate(without), 1) << " times fewer a trial";
  std::cout << "\n";
  return {{"trials", without.trials},
          {"distinct", without.samples.size()},
          {"seconds", without.seconds},
          {"distinct_per_trial", rate(without)},
          {"ratio_per_trial", number(rate(with) / rate(without))}};
}

nlohmann::json print_canonical_rates(const synthesis::Problem& problem,
                                     const synthesis::Limits& limits,
                                     const synthesis::SamplingOptions& sampling) {
  nlohmann::json rates = nlohmann::json::array();
  for (const auto& [primitives, rate] : synthesis::canonical_rates(problem, limits, sampling)) {
    std::cout << primitives << " primitives: " << rate.canonical << " of " << rate.operators
              << " canonical (" << fixed(100 * rate.share(), 2) << " %)\n";
    rates.push_back(
        {{"primitives", primitives}, {"operators", rate.operators}, {"canonical", rate.canonical}});
  }
  return rates;
}

void synth_syno(SynthOptions options) {
  options.limits.shape_distance = !options.no_shape_distance;
  options.limits.canonical = options.limits.approximate = !options.no_rules;
  const synthesis::Problem problem = synthesis::problem_for(
      synth_layers(options), {{"k", options.window}, {"s", options.stride}, {"g", options.groups}});
  synthesis::SamplingOptions sampling;
  sampling.seconds = parse_duration(options.time_budget);
  if (options.operators > 0) sampling.operators = options.operators;
  sampling.threads = options.threads;
  sampling.seed = options.seed;
  catch_interrupt();
  if (options.canonical_rates) {
    const nlohmann::json rates = print_canonical_rates(problem, options.limits, sampling);
    write_json(options.json, {{"canonical_rates", rates}, {"limits", to_json(options.limits)}});
    return;
  }
  synthesis::SamplingResult result = synthesis::sample(problem, options.limits, sampling);
  std::sort(result.samples.begin(), result.samples.end(),
            [](const auto& a, const auto& b) { return a.cost.macs < b.cost.macs; });
  size_t number = 0;
  for (const synthesis::Sample& sample : result.samples) {
    std::cout << synthesis::formula(sample.found.graph) << "\n  " << human(sample.cost.macs)
              << " MACs (" << fixed(100 * sample.cost.macs / problem.original_macs, 1) << " %), "
              << human(sample.cost.parameters) << " parameters ("
              << fixed(100 * sample.cost.parameters / problem.original_parameters, 1) << " %), "
              << sample.found.primitives << " primitives\n";
    if (options.text) std::cout << substitute::print(sample.found.graph);
    draw_operator(options, sample.found.graph, ++number);
  }
  std::cout << result.samples.size() << " distinct operators in " << result.trials << " trials, "
            << fixed(result.seconds, 1) << " s: " << fixed(result.trials_per_second(), 0)
            << " trials/s, " << fixed(result.distinct_per_second(), 2) << " operators/s\n";
  nlohmann::json document = to_json(result);
  if (options.compare_pruning)
    document["without_shape_distance"] = compare_pruning(problem, options.limits, sampling, result);
  document["space"] = options.space;
  document["threads"] = options.threads;
  document["seed"] = options.seed;
  document["limits"] = to_json(options.limits);
  document["original"] = {{"macs", problem.original_macs},
                          {"parameters", problem.original_parameters}};
  write_json(options.json, document);
}

}  // namespace

void draw_operator(const SynthOptions& options, const substitute::ValueGraph& graph,
                   size_t number) {
  if (options.drawings.empty()) return;
  std::filesystem::create_directories(options.drawings);
  write_file((std::filesystem::path(options.drawings) / (std::to_string(number) + ".dot")).string(),
             substitute::draw(graph));
}

/// "64,64,56,56": input and output channels, height, width.
std::vector<substitute::LayerShape> synth_layers(const SynthOptions& options) {
  if (options.layer.empty()) return synthesis::resnet18_layers();
  substitute::LayerShape layer;
  std::vector<int64_t> numbers;
  for (const std::string& part : CLI::detail::split(options.layer, ',')) {
    try {
      numbers.push_back(std::stoll(part));
    } catch (const std::exception&) {
      numbers.push_back(0);
    }
    if (numbers.back() < 1) break;
  }
  if (numbers.size() != 4 || numbers.back() < 1)
    throw UserError("--layer takes C_in,C_out,H,W such as 64,64,56,56, not '" + options.layer +
                    "'");
  layer.input_channels = numbers[0];
  layer.output_channels = numbers[1];
  layer.height = numbers[2];
  layer.width = numbers[3];
  layer.kernel_height = layer.kernel_width = options.window;
  layer.padding_top = layer.padding_left = layer.padding_bottom = layer.padding_right =
      options.window / 2;
  return {layer};
}

void add_synth_command(CLI::App& app) {
  const auto options = std::make_shared<SynthOptions>();
  CLI::App& command = *app.add_subcommand("synth", "Sample new operators under limits");
  command.add_option("--space", options->space, "Where to look")
      ->check(CLI::IsMember({"syno", "canvas"}))
      ->capture_default_str();
  command
      .add_option("--layer", options->layer,
                  "Convolution to replace: C_in,C_out,H,W; ResNet-18's four shapes at once if "
                  "none is given")
      ->type_name("C,O,H,W");
  command.add_option("--window", options->window, "The variable k")
      ->check(CLI::Range(1, 29))
      ->capture_default_str();
  command.add_option("--stride", options->stride, "The variable s")
      ->check(CLI::Range(1, 30))
      ->capture_default_str();
  command.add_option("--groups", options->groups, "The variable g")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();

  synthesis::Limits& limits = options->limits;
  const auto limit = [&](const char* flag, auto& value, const char* what) {
    command.add_option(flag, value, what)->capture_default_str()->group("Limits");
  };
  limit("--depth", limits.depth, "Primitives in an operator");
  limit("--tensors", limits.tensors, "Data and weights");
  limit("--reductions", limits.reductions, "Dimensions summed over");
  limit("--splits", limits.splits, "Splits in an operator");
  limit("--merges", limits.merges, "Merges in an operator");
  limit("--shifts", limits.shifts, "Shifts in an operator");
  limit("--strides", limits.strides, "Strides in an operator");
  limit("--unfolds", limits.unfolds, "Unfolds in an operator");
  limit("--expands", limits.expands, "Expands outside contractions");
  limit("--least-macs", limits.least_macs, "Share of the original's multiply-accumulates");
  limit("--most-macs", limits.most_macs, "Share of the original's multiply-accumulates");
  limit("--most-parameters", limits.most_parameters, "Share of the original's parameters");
  synthesis::canvas::KernelLimits& kernel = options->kernel_limits;
  const auto kernel_limit = [&](const char* flag, auto& value, const char* what) {
    command.add_option(flag, value, what)
        ->check(CLI::Range(1, 1000))
        ->capture_default_str()
        ->group("Limits of Canvas's space");
  };
  kernel_limit("--least-primitives", kernel.least_primitives, "Primitives in a kernel, at least");
  kernel_limit("--most-primitives", kernel.most_primitives, "Primitives in a kernel, at most");
  kernel_limit("--most-elements", kernel.most_elements,
               "Elements of a tensor over those of the layer's input");
  command
      .add_flag("--without-neighbours{false}", kernel.neighbours,
                "Also kernels that do not look at neighbours along both height and width")
      ->group("Limits of Canvas's space");
  command.add_flag("--without-weights{false}", kernel.weights, "Also kernels without weights")
      ->group("Limits of Canvas's space");
  command
      .add_flag("--no-shape-distance", options->no_shape_distance,
                "Also follow what cannot reach the input any more")
      ->group("Limits");
  command
      .add_flag("--compare-pruning", options->compare_pruning,
                "Sample as long again without shape distance and print the ratio")
      ->group("Running");
  command
      .add_flag("--canonical-rates", options->canonical_rates,
                "Print instead how many operators of each size are canonical when no rule is on")
      ->group("Running");
  command.add_flag("--no-rules", options->no_rules, "Do without the canonical form")
      ->group("Limits");

  command.add_option("--time-budget", options->time_budget, "Stop after this long (90s, 10m)")
      ->capture_default_str()
      ->group("Running");
  command.add_option("--operators", options->operators, "Stop after so many distinct operators")
      ->check(CLI::Range(1, 100000000))
      ->group("Running");
  command
      .add_option("--drawings", options->drawings, "Folder for a Graphviz file of each operator")
      ->type_name("FOLDER")
      ->group("Output");
  command.add_option("--keep", options->keep, "Kernels of Canvas's space to print, at most")
      ->check(CLI::Range(0, 100000000))
      ->capture_default_str()
      ->group("Output");
  add_threads_flag(command, *options);
  add_seed_flag(command, *options);
  command.add_flag("--text", options->text, "Print each operator's text form too")->group("Output");
  add_json_flag(command, *options);
  add_log_flags(command, *options);
  command.footer("Example:\n  opsmith synth --space syno --time-budget 60s --json found.json");
  command.callback([options] {
    if (!options->json.empty()) check_output_file(options->json);
    if (options->space == "canvas") {
      options->kernel_limits.most_macs = options->limits.most_macs;
      if (std::isfinite(options->limits.most_parameters))
        options->kernel_limits.most_parameters = options->limits.most_parameters;
      synth_canvas(*options);
    } else {
      synth_syno(*options);
    }
  });
}

}  // namespace opsmith::cli
