#pragma once

#include <cstdint>
#include <functional>

namespace opsmith {

/// Cores that this process may use (its affinity mask), at least 1.
int available_cores();

/// Calls work(i) for i in [0, count) on up to `threads` threads, in chunks taken as they come.
/// An exception of any call is rethrown here after all threads have stopped.
void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& work);

}  // namespace opsmith
