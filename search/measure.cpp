#include "search/measure.h"

#include <functional>

#include "support/timing.h"

namespace opsmith::search {

std::vector<std::map<int, double>> measure_latency(
    const std::vector<const graph::Model*>& models,
    const std::shared_ptr<schedule::KernelProvider>& provider, const Tensors& sample,
    const std::vector<int>& thread_counts, const executor::SessionOptions& kernels) {
  std::vector<std::map<int, double>> result(models.size());
  for (const int threads : thread_counts) {
    executor::SessionOptions options = kernels;
    options.threads = threads;
    std::vector<std::unique_ptr<executor::Session>> sessions;
    std::vector<std::function<void()>> work;
    for (const graph::Model* model : models) {
      sessions.push_back(std::make_unique<executor::Session>(*model, provider, options));
      work.push_back([&sample, session = sessions.back().get()] { session->run(sample); });
    }
    TimingOptions timing;
    timing.warmup = 3;
    timing.min_runs = 15;
    timing.seconds = 1;
    const std::vector<TimingSummary> times = measure_interleaved(work, timing);
    for (size_t i = 0; i < models.size(); ++i) result[i][threads] = 1000 * times[i].centre;
  }
  return result;
}

}  // namespace opsmith::search
