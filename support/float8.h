#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace opsmith {

/// One of the 8-bit floating-point formats of the ONNX specification ("Float stored in 8 bits").
struct Float8Format {
  int mantissa_bits;
  int bias;
  double largest;        ///< the largest finite number
  uint8_t not_a_number;  ///< code of NaN
  bool has_infinity;     ///< E5M2 alone
  bool unsigned_zero;    ///< the FNUZ formats: 0x80 is NaN, there is no negative zero
};

inline constexpr Float8Format kFloat8E4M3FN{3, 7, 448, 0x7f, false, false};
inline constexpr Float8Format kFloat8E4M3FNUZ{3, 8, 240, 0x80, false, true};
inline constexpr Float8Format kFloat8E5M2{2, 15, 57344, 0x7f, true, false};
inline constexpr Float8Format kFloat8E5M2FNUZ{2, 16, 57344, 0x80, false, true};

/// Exact.
inline float float8_to_float(uint8_t code, const Float8Format& format) {
  const int magnitude = code & 0x7f;
  const float sign = (code & 0x80) != 0 ? -1.0F : 1.0F;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if (format.unsigned_zero && code == 0x80) return kNan;
  if (format.has_infinity && magnitude >= 0x7c) {
    return magnitude == 0x7c ? sign * std::numeric_limits<float>::infinity() : kNan;
  }
  if (!format.unsigned_zero && !format.has_infinity && magnitude == 0x7f) return kNan;
  const int fraction = magnitude & ((1 << format.mantissa_bits) - 1);
  const int exponent = magnitude >> format.mantissa_bits;
  const int significand = exponent == 0 ? fraction : fraction + (1 << format.mantissa_bits);
  const int scale = (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits;
  return sign * std::ldexp(static_cast<float>(significand), scale);
}

/// Rounds to nearest, ties to even. What is too large becomes the largest finite number when
/// `saturate`, else infinity where the format has one, else NaN.
inline uint8_t float_to_float8(float value, const Float8Format& format, bool saturate) {
  if (std::isnan(value)) return format.not_a_number;
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80 : 0);
  const double magnitude = std::fabs(static_cast<double>(value));
  const auto code_of = [&](double number) -> uint8_t {  // of a number that the format holds
    if (number == 0) return 0;
    int exponent = 0;
    std::frexp(number, &exponent);
    const int biased = exponent - 1 + format.bias;
    if (biased < 1) {
      return static_cast<uint8_t>(std::ldexp(number, format.bias - 1 + format.mantissa_bits));
    }
    const double fraction = std::ldexp(number, format.mantissa_bits - (exponent - 1));
    const int units = static_cast<int>(fraction) - (1 << format.mantissa_bits);
    return static_cast<uint8_t>(biased << format.mantissa_bits | units);
  };
  double rounded = magnitude;
  if (std::isfinite(magnitude) && magnitude > 0) {
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    const int lowest = 1 - format.bias;
    const int step = (exponent - 1 > lowest ? exponent - 1 : lowest) - format.mantissa_bits;
    rounded = std::ldexp(std::nearbyint(std::ldexp(magnitude, -step)), step);
  }
  if (rounded > format.largest) {
    if (saturate) return sign | code_of(format.largest);
    return format.has_infinity ? static_cast<uint8_t>(sign | 0x7c) : format.not_a_number;
  }
  if (rounded == 0 && format.unsigned_zero) return 0;
  return sign | code_of(rounded);
}

}  // namespace opsmith
