#include "support/aligned_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace opsmith {

std::shared_ptr<void> allocate_aligned(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool huge = bytes >= 2 * kHugePage;
  const std::align_val_t alignment{huge ? kHugePage : 64};
  void* const data = ::operator new(std::max<size_t>(bytes, 1), alignment);
  // Only advice: without huge pages everything still works.
  if (huge) ::madvise(data, bytes, MADV_HUGEPAGE);
  return {data, [alignment](void* p) { ::operator delete(p, alignment); }};
}

}  // namespace opsmith
