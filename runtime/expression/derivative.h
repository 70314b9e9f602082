#pragma once

#include <optional>

#include "runtime/expression/scalar.h"

namespace opsmith::expression {

/// The derivative of `scalar` by the leaf (a Read or Reduced) that equals `leaf`; nullopt where it
/// is zero everywhere. Steps (floor, sign, comparisons, casts to integers) have derivative zero.
/// Where maximum or minimum meet a tie, or absolute zero, a variable side that meets one without
/// the leaf has derivative zero there (relu'(0) = 0), of two variable sides the left one counts.
std::optional<Scalar> derivative(const Scalar& scalar, const Scalar& leaf);

}  // namespace opsmith::expression
