#include "support/hash.h"

#include <array>

namespace opsmith {
namespace {

uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

}  // namespace

Hasher& Hasher::bytes(const void* data, size_t size) {
  const auto* p = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) {
    first_ = (first_ ^ p[i]) * 0x100000001b3u;
    second_ = (second_ ^ p[i]) * 0xc6a4a7935bd1e995u;
    second_ ^= second_ >> 47;
  }
  return *this;
}

Hasher& Hasher::text(std::string_view value) {
  number(static_cast<int64_t>(value.size()));
  return bytes(value.data(), value.size());
}

Hasher& Hasher::number(int64_t value) {
  std::array<unsigned char, 8> little_endian;
  for (size_t i = 0; i < 8; ++i) {
    little_endian[i] = static_cast<unsigned char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  return bytes(little_endian.data(), little_endian.size());
}

uint64_t Hasher::value() const { return mix(first_ ^ mix(second_)); }

std::string Hasher::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint64_t half : {value(), mix(second_ + 0x9e3779b97f4a7c15u * first_)}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[half >> shift & 15];
  }
  return text;
}

}  // namespace opsmith
