#pragma once

#include <cstdint>

namespace opsmith {

/// Bytes of this process in memory now; 0 where the system does not say.
int64_t resident_bytes();

/// The most bytes that were in memory at once since the start or the last `reset_peak_resident`.
int64_t peak_resident_bytes();

/// Begins a new peak; without effect where the system does not allow it.
void reset_peak_resident();

}  // namespace opsmith
