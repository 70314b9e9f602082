#include "runtime/executor/memory.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace opsmith::executor {
namespace {

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

int64_t place_in_arena(std::vector<MemoryRequest>& requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });
  std::vector<size_t> placed;  // by offset
  int64_t total = 0;
  for (size_t index : order) {
    MemoryRequest& request = requests[index];
    int64_t size = aligned(request.bytes);
    int64_t end = 0, best = -1, best_gap = std::numeric_limits<int64_t>::max();
    for (size_t other : placed) {
      const MemoryRequest& neighbour = requests[other];
      if (neighbour.first > request.last || neighbour.last < request.first) continue;
      int64_t gap = neighbour.offset - end;
      if (gap >= size && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, neighbour.offset + aligned(neighbour.bytes));
    }
    request.offset = best >= 0 ? best : end;
    total = std::max(total, request.offset + size);
    auto at = std::upper_bound(placed.begin(), placed.end(), index, [&](size_t a, size_t b) {
      return requests[a].offset < requests[b].offset;
    });
    placed.insert(at, index);
  }
  return total;
}

}  // namespace opsmith::executor
