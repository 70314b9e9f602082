#include "runtime/expression/derivative.h"

#include <cmath>
#include <numbers>

namespace opsmith::expression {
namespace {

using Derivative = std::optional<Scalar>;

Scalar number(double value) { return Scalar::constant(value); }
bool is_one(const Scalar& s) { return s.kind() == Scalar::Kind::Constant && s.value() == 1; }
Scalar negate(const Scalar& s) { return Scalar::unary(Unary::Negate, s); }

/// d * factor, without a factor of one.
Scalar scaled(const Scalar& d, const Scalar& factor) { return is_one(d) ? factor : d * factor; }

Derivative sum(const Derivative& a, const Derivative& b) {
  if (!a) return b;
  if (!b) return a;
  return *a + *b;
}

Derivative difference(const Derivative& a, const Derivative& b) {
  if (!b) return a;
  return a ? *a - *b : negate(*b);
}

Derivative times(const Derivative& d, const Scalar& factor) {
  if (!d) return std::nullopt;
  return scaled(*d, factor);
}

Derivative choose(const Scalar& condition, const Derivative& then, const Derivative& otherwise) {
  if (!then && !otherwise) return std::nullopt;
  return Scalar::select(condition, then.value_or(number(0)), otherwise.value_or(number(0)));
}

/// Whether a scalar is computed from positions and constants alone: an integer.
bool counts(const Scalar& scalar) {
  if (scalar.kind() == Scalar::Kind::Position) return true;
  if (scalar.kind() != Scalar::Kind::Binary) return false;
  const auto fits = [](const Scalar& s) { return s.kind() == Scalar::Kind::Constant || counts(s); };
  return fits(scalar.operand(0)) && fits(scalar.operand(1)) &&
         (counts(scalar.operand(0)) || counts(scalar.operand(1)));
}

/// The derivative of a function of one value at x, times the inner derivative.
Derivative through(const Scalar& node, const Scalar& inner) {
  const Scalar& x = node.operand(0);
  switch (node.unary_function()) {
    case Unary::Negate:
      return negate(inner);
    case Unary::Absolute:
      return scaled(inner, Scalar::unary(Unary::Sign, x));
    case Unary::Exp:
      return scaled(inner, node);
    case Unary::Log:
      return inner / x;
    case Unary::Tanh:
      return scaled(inner, number(1) - node * node);
    case Unary::Erf:
      return scaled(inner, number(2 / std::sqrt(std::numbers::pi)) *
                               Scalar::unary(Unary::Exp, negate(x * x)));
    case Unary::Sqrt:
      return scaled(inner, number(0.5) / node);
    case Unary::Reciprocal:
      return scaled(inner, negate(node * node));
    case Unary::Sin:
      return scaled(inner, Scalar::unary(Unary::Cos, x));
    case Unary::Cos:
      return scaled(inner, negate(Scalar::unary(Unary::Sin, x)));
    case Unary::Floor:
    case Unary::Ceil:
    case Unary::Round:
    case Unary::Sign:
    case Unary::Not:
      break;
  }
  return std::nullopt;
}

Derivative extremum(const Scalar& node, const Derivative& da, const Derivative& db) {
  const Scalar &a = node.operand(0), &b = node.operand(1);
  const bool maximum = node.binary_function() == Binary::Maximum;
  const auto wins = [&](const Scalar& winner, const Scalar& loser) {
    return maximum ? Scalar::binary(Binary::Less, loser, winner)
                   : Scalar::binary(Binary::Less, winner, loser);
  };
  return da && !db ? choose(wins(a, b), da, {}) : choose(wins(b, a), db, da);
}

Derivative of_binary(const Scalar& node, const Derivative& da, const Derivative& db) {
  const Scalar &a = node.operand(0), &b = node.operand(1);
  switch (node.binary_function()) {
    case Binary::Add:
      return sum(da, db);
    case Binary::Subtract:
      return difference(da, db);
    case Binary::Multiply:
      return sum(times(da, b), times(db, a));
    case Binary::Divide: {
      // A quotient of positions would be one of integers.
      const Scalar real = counts(b) ? Scalar::cast(ElementType::Float64, b) : b;
      return difference(da ? Derivative(*da / real) : Derivative(),
                        db ? Derivative(scaled(*db, a) / (b * b)) : Derivative());
    }
    case Binary::Minimum:
    case Binary::Maximum:
      return extremum(node, da, db);
    case Binary::Power: {
      const Scalar lower = b.kind() == Scalar::Kind::Constant && b.value() == 2
                               ? number(2) * a
                               : b * Scalar::binary(Binary::Power, a, b - number(1));
      return sum(times(da, lower), times(db, Scalar::unary(Unary::Log, a) * node));
    }
    case Binary::Modulo:
      return difference(da, times(db, Scalar::unary(Unary::Floor, a / b)));
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Scalar> derivative(const Scalar& scalar, const Scalar& leaf) {
  const auto inner = [&](size_t i) { return derivative(scalar.operand(i), leaf); };
  switch (scalar.kind()) {
    case Scalar::Kind::Read:
    case Scalar::Kind::Reduced:
      if (scalar == leaf) return number(1);
      return std::nullopt;
    case Scalar::Kind::Constant:
    case Scalar::Kind::Position:
      return std::nullopt;
    case Scalar::Kind::Unary: {
      const Derivative d = inner(0);
      return d ? through(scalar, *d) : std::nullopt;
    }
    case Scalar::Kind::Binary: {
      const Derivative da = inner(0), db = inner(1);
      return da || db ? of_binary(scalar, da, db) : std::nullopt;
    }
    case Scalar::Kind::Select:
      return choose(scalar.operand(0), inner(1), inner(2));
    case Scalar::Kind::Cast: {
      // A leaf that is a float stays one on the way; only the cast itself may end that.
      return is_float(scalar.type()) ? inner(0) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace opsmith::expression
