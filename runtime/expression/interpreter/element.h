#pragma once

#include <cstdint>

#include "support/tensor.h"

namespace opsmith::expression::interpreter {

/// One number while it is computed: `real` for floats of any width, `integer` for integers and
/// Bool (u64 as the bits of a signed number).
union Value {
  double real;
  int64_t integer;
};

Value load(const void* elements, ElementType type, int64_t at);
void store(void* elements, ElementType type, int64_t at, Value value);

/// A double as a number of `type`: floats round to it, integers truncate and saturate (NaN is 0).
Value from_double(double number, ElementType type);
/// Between element types; integers wrap.
Value convert(Value value, ElementType from, ElementType to);
/// An integer wrapped to the width of `type`; not for floats.
int64_t wrap(int64_t integer, ElementType type);

}  // namespace opsmith::expression::interpreter
