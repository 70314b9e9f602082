#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace opsmith::executor {

/// A block of memory that is in use from step `first` to step `last`, both included.
struct MemoryRequest {
  int64_t bytes = 0;
  size_t first = 0;
  size_t last = 0;
  int64_t offset = 0;  ///< the answer, a multiple of 64
};

/// Gives every request an offset such that blocks in use at the same step do not overlap: largest
/// first, each into the smallest gap that fits. Returns the bytes of the whole arena.
int64_t place_in_arena(std::vector<MemoryRequest>& requests);

}  // namespace opsmith::executor
