#include "runtime/expression/bounds.h"

#include <algorithm>

#include "runtime/expression/integer.h"

namespace opsmith::expression {
namespace {

using integer::floor_divide;
using integer::floor_modulo;
using Kind = Index::Kind;

std::optional<Bounds> bounds_of_operation(const Index& index, const Bounds& a, const Bounds& b) {
  const auto spread = [](std::initializer_list<__int128> values) -> std::optional<Bounds> {
    const __int128 low = std::min(values), high = std::max(values);
    if (low < INT64_MIN || high > INT64_MAX) return std::nullopt;
    return Bounds{static_cast<int64_t>(low), static_cast<int64_t>(high)};
  };
  const __int128 al = a.low, ah = a.high, bl = b.low, bh = b.high;
  switch (index.kind()) {
    case Kind::Add:
      return spread({al + bl, ah + bh});
    case Kind::Sub:
      return spread({al - bh, ah - bl});
    case Kind::Mul:
      return spread({al * bl, al * bh, ah * bl, ah * bh});
    case Kind::FloorDiv:
      if (b.low <= 0) return std::nullopt;
      return Bounds{
          std::min(floor_divide(a.low, b.low), floor_divide(a.low, b.high)),
          std::max(floor_divide(a.high, b.low), floor_divide(a.high, b.high)),
      };
    case Kind::Mod:
      if (b.low <= 0) return std::nullopt;
      if (b.low == b.high && floor_divide(a.low, b.low) == floor_divide(a.high, b.low)) {
        return Bounds{floor_modulo(a.low, b.low), floor_modulo(a.high, b.low)};
      }
      return Bounds{0, b.high - 1};
    case Kind::Within: {
      // Outside its extent the whole read is the fill value: the index does not matter there.
      const Bounds clipped{std::max<int64_t>(a.low, 0), std::min(a.high, b.high - 1)};
      return clipped.low <= clipped.high ? clipped : a;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Bounds> bounds(const Index& index, const Ranges& ranges) {
  switch (index.kind()) {
    case Kind::Constant:
      return Bounds{index.value(), index.value()};
    case Kind::Symbol:
    case Kind::Iterator: {
      const auto found = ranges.find(index.name());
      if (found == ranges.end() || found->second.begin >= found->second.end) return std::nullopt;
      return Bounds{found->second.begin, found->second.end - 1};
    }
    default: {
      const auto right = bounds(index.right(), ranges);
      if (!right) return std::nullopt;
      const auto left = bounds(index.left(), ranges);
      if (left) return bounds_of_operation(index, *left, *right);
      const bool bounded = index.kind() == Kind::Mod || index.kind() == Kind::Within;
      if (bounded && right->low > 0) return Bounds{0, right->high - 1};
      return std::nullopt;
    }
  }
}

}  // namespace opsmith::expression
