#pragma once

#include <cstdint>

namespace opsmith::synthesis {

/// Scrambles 64 bits (the finalizer of splitmix64): sums of scrambled values identify multisets.
inline uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

}  // namespace opsmith::synthesis
