#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace opsmith::schedule {

/// The machine that code is made for. Part of every key.
struct Target {
  std::string cpu;       ///< LLVM's name: "znver4", "x86-64-v3"
  std::string features;  ///< LLVM's feature string
  std::string machine;   ///< "vendor/family/model"
  int64_t vector_bytes = 32;
  int64_t vector_registers = 16;
  bool masked_memory = false;        ///< AVX-512 style masked loads and stores
  std::vector<int64_t> cache_bytes;  ///< data caches from level 1
  int threads = 1;

  int64_t lanes(int64_t element_bytes) const { return vector_bytes / element_bytes; }
  /// "vendor/family/model isa L1/L2/L3 threads": what the schedule database keys on.
  std::string key() const;
  /// "avx2" or "avx512".
  std::string instruction_set() const;
};

/// This machine, or "avx2" / "avx512" restricted from it. Throws UserError on an unknown name.
Target detect_target(const std::string& name = "native", int threads = 1);

}  // namespace opsmith::schedule
