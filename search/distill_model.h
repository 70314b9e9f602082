#pragma once

#include <optional>

#include "search/optimize.h"
#include "search/study/distillation.h"

namespace opsmith::search {

struct DistilledModel {
  graph::Model model;
  DistillationReport report;
  std::optional<double> accuracy_before, accuracy_after;  ///< top-1 in percent, with labels
};

/// Trains a model to give another one's outputs on the calibration inputs; every eighth of them, at
/// most 1,024, decides which weights are kept. The evaluation inputs only measure. Throws UserError
/// where the two models do not have the same inputs and outputs.
DistilledModel distill_model(graph::Model model, const graph::Model& original,
                             const OptimizeData& data, const DistillationOptions& options);

}  // namespace opsmith::search
