#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "search/study/isolated_fit.h"

namespace opsmith::search {

/// What became of each study.
struct RefitLayer {
  substitute::Fit fit;   ///< of the operator, or of the layer's own weights
  double fit_error = 0;  ///< relative L2 at the patches that were fitted, of what was aimed at
};

struct RefitNetwork {
  graph::Model model;
  std::vector<RefitLayer> layers;
};

/// Per study the index of its candidate, nullopt where the layer is left alone.
using Choice = std::vector<std::optional<size_t>>;

/// From an assignment, whose option 0 is the layer as it is.
Choice to_choice(const std::vector<size_t>& assignment);

struct RefitOptions {
  int threads = 1;
  uint64_t seed = 1;
  bool refit_unchanged = true;  ///< layers left alone get new weights, too
  std::function<bool()> stop;   ///< once true, layers keep the weights that were fitted alone
};

/// Replaces layers by the chosen candidates one after another in the order
/// of the graph. Each is fitted on what the already substituted network feeds it, to give what the
/// original gave, so that it makes up for the errors before it.
RefitNetwork refit_network(const graph::Model& model,
                           const std::shared_ptr<schedule::KernelProvider>& provider,
                           const Tensors& fit_data, const OriginalRun& original,
                           const std::vector<LayerStudy>& studies, const Choice& choice,
                           const RefitOptions& options);

}  // namespace opsmith::search
