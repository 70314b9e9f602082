#include "support/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

namespace opsmith {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& work) {
  if (threads <= 1 || count <= 1) {
    for (int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::exception_ptr failure;
  std::mutex mutex;
  std::atomic<bool> stop{false};
  const int team = static_cast<int>(std::min<int64_t>(threads, count));
#pragma omp parallel for schedule(dynamic) num_threads(team)
  for (int64_t i = 0; i < count; ++i) {
    if (stop.load(std::memory_order_relaxed)) continue;
    try {
      work(i);
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace opsmith
