#pragma once

#include <cstddef>
#include <memory>

namespace opsmith {

/// At least one byte, 64-byte aligned, not initialised. From a few megabytes on the system is asked
/// for huge pages: walking through weights, a core otherwise waits for a page's address every 4 KB.
/// Throws std::bad_alloc.
std::shared_ptr<void> allocate_aligned(size_t bytes);

}  // namespace opsmith
