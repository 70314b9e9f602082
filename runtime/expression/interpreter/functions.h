#pragma once

#include "runtime/expression/interpreter/element.h"
#include "runtime/expression/scalar.h"

namespace opsmith::expression::interpreter {

/// A function of one value of `type`; floats in double. Not gives 0 or 1 as an integer, all others
/// a value of `type`.
Value apply(Unary function, ElementType type, Value operand);

/// A function of two values of `type`. Comparisons and logic give 0 or 1 as an integer, all others
/// a value of `type`.
Value apply(Binary function, ElementType type, Value left, Value right);

}  // namespace opsmith::expression::interpreter
