#pragma once

#include <map>
#include <memory>

#include "search/samples.h"

namespace opsmith::search {

/// Milliseconds for one sample by thread count, of several models measured interleaved. `kernels`
/// says which kernels sessions may choose.
std::vector<std::map<int, double>> measure_latency(
    const std::vector<const graph::Model*>& models,
    const std::shared_ptr<schedule::KernelProvider>& provider, const Tensors& sample,
    const std::vector<int>& thread_counts, const executor::SessionOptions& kernels);

}  // namespace opsmith::search
