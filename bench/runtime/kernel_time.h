#pragma once

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

namespace opsmith {

struct KernelTime {
  double median = 0;
  double quiet = 0;  ///< the first decile: what an undisturbed machine would show
};

/// One thread is timed by its time on the processor, so that a busy machine counts less.
inline KernelTime time_kernel(const std::function<void()>& work, int threads) {
  const auto now = [&] {
    timespec time{};
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  work();
  std::vector<double> samples;
  const double start = now();
  while (samples.size() < 10 || now() - start < 0.1) {
    const double begin = now();
    work();
    samples.push_back(now() - begin);
  }
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples[samples.size() / 10]};
}

}  // namespace opsmith
