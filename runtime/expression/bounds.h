#pragma once

#include <cstdint>
#include <optional>

#include "runtime/expression/index.h"

namespace opsmith::expression {

/// Inclusive bounds.
struct Bounds {
  int64_t low;
  int64_t high;
};

/// Between which values an index stays, operation by operation; nullopt when it cannot be told.
/// Inside a `within` that is violated the value does not matter and is left out. Tight only for
/// simplified indices: it does not see that a variable comes twice.
std::optional<Bounds> bounds(const Index& index, const Ranges& ranges);

}  // namespace opsmith::expression
