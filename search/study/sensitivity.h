#pragma once

#include <functional>
#include <vector>

#include "search/study/layer_study.h"

namespace opsmith::search {

/// For each study the part of the model after its layer.
std::vector<graph::Model> models_after(const graph::Model& model,
                                       const std::vector<LayerStudy>& studies);

/// How much the network's outputs change when a single layer is replaced: sets `loss` of every
/// worthwhile candidate. Once `stop` is true the rest is not measured: their loss is then taken to
/// be their fit error, which is pessimistic in deep networks. `held_out` holds the original's
/// values that the parts of the model read, and its outputs.
void measure_sensitivities(const std::vector<graph::Model>& after,
                           const std::shared_ptr<schedule::KernelProvider>& provider,
                           const Tensors& held_out, int threads, const std::function<bool()>& stop,
                           std::vector<LayerStudy>& studies);

}  // namespace opsmith::search
