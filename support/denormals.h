#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace opsmith {

/// While it lives, numbers too small for the normal format count as zero in this thread
/// (arithmetic on them is up to a hundred times slower). Restores the caller's setting.
class FlushDenormals {
 public:
#if defined(__SSE__)
  FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(saved_); }
#else
  FlushDenormals() = default;
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_ = 0;
};

}  // namespace opsmith
