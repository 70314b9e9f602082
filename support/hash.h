#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace opsmith {

/// A 128-bit content hash (two FNV-1a lanes, finally mixed), the same on every machine. Not
/// cryptographic: it names content and finds damage.
class Hasher {
 public:
  Hasher& bytes(const void* data, size_t size);
  /// Text with its length, so that ("ab", "c") differs from ("a", "bc").
  Hasher& text(std::string_view value);
  Hasher& number(int64_t value);

  uint64_t value() const;
  std::string hex() const;  ///< 32 lowercase digits

 private:
  uint64_t first_ = 0xcbf29ce484222325u;
  uint64_t second_ = 0x9ae16a3b2f90404fu;
};

}  // namespace opsmith
