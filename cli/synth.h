#pragma once

#include <string>
#include <vector>

#include "cli/common.h"
#include "search/synthesis/canvas/choices.h"
#include "search/synthesis/limits.h"
#include "substitute/operator/layer.h"
#include "substitute/operator/value_graph.h"

namespace opsmith::cli {

/// Flags of `opsmith synth`; `limits` are those of Syno's space, `kernel_limits` of Canvas's.
struct SynthOptions : CommonOptions {
  std::string space = "syno";
  std::string time_budget = "10s";
  int64_t operators = 0;
  int64_t keep = 100;  ///< kernels of Canvas's space that are kept and printed, by thread
  std::string layer;
  int window = 3;
  int stride = 2;
  int groups = 32;
  synthesis::Limits limits = synthesis::Limits::resnet18();
  synthesis::canvas::KernelLimits kernel_limits;
  bool no_shape_distance = false;
  bool no_rules = false;
  bool compare_pruning = false;  ///< sample again without shape distance
  bool canonical_rates = false;
  bool text = false;
  std::string drawings;  ///< folder for Graphviz files, one for each operator
};

/// The layers that are to be replaced.
std::vector<substitute::LayerShape> synth_layers(const SynthOptions& options);

/// Writes `graph` to FOLDER/<number>.dot where drawings are asked for.
void draw_operator(const SynthOptions& options, const substitute::ValueGraph& graph, size_t number);

void synth_canvas(const SynthOptions& options);

}  // namespace opsmith::cli
