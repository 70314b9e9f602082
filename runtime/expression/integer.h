#pragma once

#include <cstdint>

namespace opsmith::expression::integer {

/// Quotient rounded towards minus infinity. `b` is not 0, the quotient representable.
inline int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

/// a - floor_divide(a, b) * b: in [0, b) for positive b. `b` is not 0.
inline int64_t floor_modulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && ((remainder < 0) != (b < 0)) ? remainder + b : remainder;
}

}  // namespace opsmith::expression::integer
