#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "search/study/layer_study.h"

namespace opsmith::search {

/// Measures each layer and each of its worthwhile candidates alone, for one sample, interleaved
/// with one another; layers of equal shape are measured once. Sets `milliseconds`. `fixed` is the
/// model with the shapes of one sample, `options` says how sessions run. Once `stop` is true the
/// rest is not measured, and taken to run at the speed of what was.
void measure_latencies(const graph::Model& fixed,
                       const std::shared_ptr<schedule::KernelProvider>& provider,
                       const executor::SessionOptions& options, const std::function<bool()>& stop,
                       std::vector<LayerStudy>& studies);

}  // namespace opsmith::search
