#pragma once

#include <chrono>
#include <functional>
#include <vector>

namespace opsmith {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A robust account of repeated times, in seconds. The centre is the winsorized mean (the outer
/// quarter on each side pulled in), never the minimum: lucky runs are not repeatable.
struct TimingSummary {
  double centre = 0;
  double median = 0;
  double p90 = 0;
  double spread = 0;  ///< interquartile range over the median
  size_t runs = 0;
};
TimingSummary summarize(std::vector<double> seconds);

struct TimingOptions {
  int warmup = 1;
  int min_runs = 5;
  int max_runs = 1000;
  double seconds = 0.5;  ///< stop after this long, but not before min_runs
};

/// Times several contestants interleaved (A B A B ...), each sample being one call.
std::vector<TimingSummary> measure_interleaved(const std::vector<std::function<void()>>& work,
                                               const TimingOptions& options = {});
TimingSummary measure(const std::function<void()>& work, const TimingOptions& options = {});

}  // namespace opsmith
