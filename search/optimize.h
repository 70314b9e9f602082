#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/executor/session.h"
#include "search/study/distillation.h"
#include "support/tensor.h"

namespace opsmith::search {

/// A cap, absolute or as a share of the original ("40%" is 0.4 with `share`, "26M" is 26 million,
/// times are in milliseconds: "3ms" is 3).
struct Limit {
  double value = 0;
  bool share = false;
};
Limit parse_limit(const std::string& text);  ///< throws UserError

struct OptimizeOptions {
  std::optional<Limit> max_macs;            ///< --max-flops (FLOPs are twice the MACs)
  std::optional<Limit> max_parameters;      ///< --max-params
  std::optional<Limit> max_latency;         ///< --max-latency, milliseconds at `threads`
  std::optional<double> max_accuracy_loss;  ///< percentage points of top-1; needs labels
  bool single_operator = false;             ///< one operator for the whole network
  std::vector<std::string> exclude;         ///< node names left alone
  DistillationOptions distillation;         ///< threads, seed and time are taken from below
  int threads = 2;
  executor::SessionOptions kernels;  ///< which kernels measured sessions may choose
  uint64_t seed = 1;
  double time_budget_seconds = 0;  ///< 0: none; every phase gets a share of it
  bool dry_run = false;            ///< plan and predict, write nothing
  std::string output_folder;
  /// The command line behind the subcommand's name, for config.json; empty when there was none.
  std::vector<std::string> arguments;
};

/// Inputs by name, first dimension over samples. Fitting and search see the calibration set only;
/// the evaluation set is read once, for the gate and the report.
struct OptimizeData {
  std::map<std::string, Tensor> calibration;
  std::map<std::string, Tensor> evaluation;
  std::optional<Tensor> labels;              ///< of the evaluation set
  std::optional<Tensor> calibration_labels;  ///< mixed into the targets of distillation
};

struct ModelMeasure {
  std::optional<double> accuracy;  ///< top-1 in percent
  int64_t macs = 0;
  int64_t parameters = 0;
  std::map<int, double> latency_ms;  ///< by thread count
};

struct LayerChoice {
  std::string node;
  std::string operator_name;  ///< empty: left alone
  std::string formula;
  std::string reason;  ///< why it was left alone
  int64_t macs_before = 0, macs_after = 0;
  int64_t parameters_before = 0, parameters_after = 0;
  double milliseconds_before = 0, milliseconds_after = 0;
  double fit_error = 0;       ///< relative L2 of the layer's output on held-out inputs
  double predicted_loss = 0;  ///< of the network's output, this layer alone replaced
};

struct OptimizeResult {
  graph::Model model;
  ModelMeasure original, optimized;
  std::vector<LayerChoice> layers;
  double agreement = 0;   ///< share of inputs with unchanged top-1, on evaluation (else held-out)
  double divergence = 0;  ///< relative L2 of the outputs on the same inputs
  double predicted_divergence = 0;  ///< from each layer's own, before anything was refitted
  double held_out_divergence = 0;   ///< of the result, on held-out calibration inputs
  std::optional<DistillationReport> distillation;
  double seconds = 0;
  bool gate_met = true;
  std::string gate_message;
};

/// Substitutes operators under the budget, fits them, measures, and writes model.onnx,
/// report.html, report.json and config.json into the output folder. Throws UserError on bad
/// input (nothing is left half-written); a missed gate is reported in the result, which is still
/// written.
OptimizeResult optimize(const graph::Model& model, const OptimizeData& data,
                        const OptimizeOptions& options);

}  // namespace opsmith::search
