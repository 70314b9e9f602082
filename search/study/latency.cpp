#include "search/study/latency.h"

#include <algorithm>
#include <functional>
#include <map>

#include "runtime/executor/session.h"
#include "substitute/operator/layer.h"
#include "substitute/rewriting/rewrite.h"
#include "support/error.h"
#include "support/log.h"
#include "support/progress.h"
#include "support/timing.h"

namespace opsmith::search {

namespace {

/// A model of one node; its data input becomes the model's input.
graph::Model single_node(const graph::Model& model, int32_t node) {
  graph::Model single = model;
  graph::Graph& graph = single.graph;
  graph::Node only = graph.nodes.at(static_cast<size_t>(node));
  graph.inputs = {only.input(0)};
  graph.outputs = {only.output(0)};
  graph.nodes = {std::move(only)};
  graph.compact();
  return single;
}

/// Milliseconds in proportion to multiply-accumulates, where nothing was measured.
void estimate_unmeasured(std::vector<LayerStudy>& studies) {
  double milliseconds = 1e-9, macs = 1;
  for (const LayerStudy& study : studies) {
    if (study.milliseconds <= 0) continue;
    milliseconds += study.milliseconds;
    macs += static_cast<double>(study.macs);
  }
  const double each = milliseconds / macs;
  for (LayerStudy& study : studies) {
    if (study.milliseconds > 0) continue;
    study.milliseconds = each * static_cast<double>(study.macs);
    for (CandidateStudy& candidate : study.candidates) {
      candidate.milliseconds = each * static_cast<double>(candidate.macs);
    }
  }
}

struct Contestant {
  std::shared_ptr<executor::Session> session;
  double* milliseconds;
};

Tensor sample_input(const graph::Model& single) {
  const graph::Value& value = single.graph.value(single.graph.inputs.front());
  const std::optional<Shape> shape =
      value.shape ? graph::concrete(*value.shape) : std::optional<Shape>();
  if (!shape) throw UserError("the shape of '" + value.name + "' is not known");
  Tensor tensor(ElementType::Float32, *shape);
  const std::span<float> values = tensor.data<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) / 17;
  return tensor;
}

}  // namespace

void measure_latencies(const graph::Model& fixed,
                       const std::shared_ptr<schedule::KernelProvider>& provider,
                       const executor::SessionOptions& options, const std::function<bool()>& stop,
                       std::vector<LayerStudy>& studies) {
  Progress progress("measuring operators alone", static_cast<int64_t>(studies.size()));
  std::map<std::string, double> known;
  for (LayerStudy& study : studies) {
    if (stop()) break;
    const std::string layer = study.target.type + " " + to_string(study.target.shape) + " " +
                              to_string(*fixed.graph.value(study.target.input(fixed.graph)).shape);
    const graph::Model original = single_node(fixed, study.target.node);
    const std::string input_name = original.graph.value(original.graph.inputs.front()).name;
    std::vector<Contestant> contestants;
    const auto enter = [&](const graph::Model& model, double* milliseconds) {
      contestants.push_back(
          {std::make_shared<executor::Session>(model, provider, options), milliseconds});
    };
    const bool repeated = known.contains(layer);
    if (!repeated) enter(original, &study.milliseconds);
    for (CandidateStudy& candidate : study.candidates) {
      if (!candidate.worthwhile) continue;
      const std::string key = layer + " " + candidate.candidate.name;
      if (const auto found = known.find(key); found != known.end()) {
        candidate.milliseconds = found->second;
        continue;
      }
      graph::Model replaced = fixed;
      substitute::Target target = study.target;
      substitute::replace_target(
          replaced, target, candidate.candidate, candidate.fit.weights,
          Tensor::of<float>({candidate.fit.map.outputs}, candidate.fit.map.bias));
      enter(single_node(replaced, target.node), &candidate.milliseconds);
    }
    if (repeated) study.milliseconds = known.at(layer);
    if (!contestants.empty()) {
      const Tensors input = {{input_name, sample_input(original)}};
      std::vector<std::function<void()>> work;
      for (const Contestant& contestant : contestants) {
        work.push_back([&input, session = contestant.session] { session->run(input); });
      }
      TimingOptions timing;
      timing.warmup = 3;
      timing.min_runs = 9;
      timing.max_runs = 200;
      timing.seconds = 0.01 * static_cast<double>(contestants.size());
      const std::vector<TimingSummary> times = measure_interleaved(work, timing);
      for (size_t i = 0; i < contestants.size(); ++i) {
        *contestants[i].milliseconds = 1000 * times[i].centre;
      }
    }
    known[layer] = study.milliseconds;
    for (const CandidateStudy& candidate : study.candidates) {
      if (candidate.worthwhile) {
        known[layer + " " + candidate.candidate.name] = candidate.milliseconds;
      }
    }
    progress.advance(study.target.name);
  }
  estimate_unmeasured(studies);
}

}  // namespace opsmith::search
