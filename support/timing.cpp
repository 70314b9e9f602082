#include "support/timing.h"

#include <algorithm>
#include <cmath>

namespace opsmith {
namespace {

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(position);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return std::lerp(sorted[low], sorted[high], position - static_cast<double>(low));
}

}  // namespace

TimingSummary summarize(std::vector<double> seconds) {
  TimingSummary summary;
  summary.runs = seconds.size();
  if (seconds.empty()) return summary;
  std::ranges::sort(seconds);
  summary.median = quantile(seconds, 0.5);
  summary.p90 = quantile(seconds, 0.9);
  const double low = quantile(seconds, 0.25), high = quantile(seconds, 0.75);
  summary.spread = summary.median > 0 ? (high - low) / summary.median : 0;
  double sum = 0;
  for (double s : seconds) sum += std::clamp(s, low, high);
  summary.centre = sum / static_cast<double>(seconds.size());
  return summary;
}

std::vector<TimingSummary> measure_interleaved(const std::vector<std::function<void()>>& work,
                                               const TimingOptions& options) {
  for (int i = 0; i < options.warmup; ++i) {
    for (const auto& contestant : work) contestant();
  }
  std::vector<std::vector<double>> times(work.size());
  const Stopwatch total;
  for (int run = 0; run < options.max_runs; ++run) {
    if (run >= options.min_runs && total.seconds() > options.seconds) break;
    for (size_t i = 0; i < work.size(); ++i) {
      const Stopwatch watch;
      work[i]();
      times[i].push_back(watch.seconds());
    }
  }
  std::vector<TimingSummary> summaries;
  for (auto& t : times) summaries.push_back(summarize(std::move(t)));
  return summaries;
}

TimingSummary measure(const std::function<void()>& work, const TimingOptions& options) {
  return measure_interleaved({work}, options).front();
}

}  // namespace opsmith
