#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "search/study/layer_study.h"

namespace opsmith::search {

/// What the original model gives on the calibration inputs.
struct OriginalRun {
  /// Per study the rows that a refit aims at: the layer's output, or the sum where there is one,
  /// at the sampled positions of the samples that are fitted.
  std::vector<std::vector<float>> targets;
  /// Values of the held-out samples: outputs, and what layers read and make.
  Tensors held_out;
};

/// Runs the original once over the calibration inputs, then fits every candidate of every study on
/// its own and measures its error on held-out samples. Sets `fit`, `fit_error`, `worthwhile`.
/// `keep` names further values whose held-out samples are wanted. Once `stop` is true each layer
/// left gets a few of its candidates only, quickly; the others have no fit and are not worthwhile.
OriginalRun fit_isolated(const graph::Model& model,
                         const std::shared_ptr<schedule::KernelProvider>& provider,
                         const Tensors& fit_data, const Tensors& held_out_data, int threads,
                         const StudyOptions& options, const std::vector<std::string>& keep,
                         const std::function<bool()>& stop, std::vector<LayerStudy>& studies);

}  // namespace opsmith::search
