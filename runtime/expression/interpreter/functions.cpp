#include "runtime/expression/interpreter/functions.h"

#include <cmath>

#include "runtime/expression/integer.h"
#include "support/error.h"

namespace opsmith::expression::interpreter {
namespace {

double apply_real(Unary function, double x) {
  switch (function) {
    case Unary::Negate:
      return -x;
    case Unary::Absolute:
      return std::fabs(x);
    case Unary::Exp:
      return std::exp(x);
    case Unary::Log:
      return std::log(x);
    case Unary::Tanh:
      return std::tanh(x);
    case Unary::Erf:
      return std::erf(x);
    case Unary::Sqrt:
      return std::sqrt(x);
    case Unary::Reciprocal:
      return 1 / x;
    case Unary::Floor:
      return std::floor(x);
    case Unary::Ceil:
      return std::ceil(x);
    case Unary::Round:
      return std::nearbyint(x);
    case Unary::Sin:
      return std::sin(x);
    case Unary::Cos:
      return std::cos(x);
    case Unary::Sign:
      return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
    case Unary::Not:
      break;
  }
  throw InternalError("interpreter: unknown unary function");
}

/// Two's complement arithmetic without overflow.
int64_t wrapping(Binary function, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (function) {
    case Binary::Add:
      return static_cast<int64_t>(x + y);
    case Binary::Subtract:
      return static_cast<int64_t>(x - y);
    default:
      return static_cast<int64_t>(x * y);
  }
}

int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  int64_t result = 1;
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 == 1) result = wrapping(Binary::Multiply, result, base);
    base = wrapping(Binary::Multiply, base, base);
  }
  return result;
}

int64_t apply_integer(Unary function, int64_t x) {
  switch (function) {
    case Unary::Negate:
      return wrapping(Binary::Subtract, 0, x);
    case Unary::Absolute:
      return x < 0 ? wrapping(Binary::Subtract, 0, x) : x;
    case Unary::Floor:
    case Unary::Ceil:
    case Unary::Round:
      return x;
    case Unary::Sign:
      return (x > 0) - (x < 0);
    default:
      throw InternalError("interpreter: a function of reals met an integer");
  }
}

double modulo(double a, double b) {
  const double remainder = std::fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

double apply_real(Binary function, double a, double b) {
  switch (function) {
    case Binary::Add:
      return a + b;
    case Binary::Subtract:
      return a - b;
    case Binary::Multiply:
      return a * b;
    case Binary::Divide:
      return a / b;
    case Binary::Minimum:
      return std::isnan(a) || a < b ? a : b;
    case Binary::Maximum:
      return std::isnan(a) || a > b ? a : b;
    case Binary::Power:
      return std::pow(a, b);
    case Binary::Modulo:
      return modulo(a, b);
    default:
      throw InternalError("interpreter: unknown function of reals");
  }
}

template <typename T>
bool compare(Binary function, T a, T b) {
  switch (function) {
    case Binary::Less:
      return a < b;
    case Binary::LessEqual:
      return a <= b;
    case Binary::Equal:
      return a == b;
    case Binary::And:
      return a != 0 && b != 0;
    default:
      return a != 0 || b != 0;
  }
}

bool gives_bool(Binary function) {
  return function == Binary::Less || function == Binary::LessEqual || function == Binary::Equal ||
         function == Binary::And || function == Binary::Or;
}

int64_t apply_unsigned(Binary function, uint64_t a, uint64_t b) {
  switch (function) {
    case Binary::Divide:
      return static_cast<int64_t>(b == 0 ? 0 : a / b);
    case Binary::Modulo:
      return static_cast<int64_t>(b == 0 ? 0 : a % b);
    case Binary::Minimum:
      return static_cast<int64_t>(a < b ? a : b);
    default:
      return static_cast<int64_t>(a < b ? b : a);
  }
}

int64_t apply_signed(Binary function, int64_t a, int64_t b) {
  switch (function) {
    case Binary::Divide:
      return b == 0 ? 0 : b == -1 ? wrapping(Binary::Subtract, 0, a) : a / b;
    case Binary::Modulo:
      return b == 0 ? 0 : integer::floor_modulo(a, b);
    case Binary::Minimum:
      return a < b ? a : b;
    case Binary::Maximum:
      return a < b ? b : a;
    case Binary::Power:
      return power(a, b);
    default:
      return wrapping(function, a, b);
  }
}

}  // namespace

Value apply(Unary function, ElementType type, Value operand) {
  Value result;
  if (function == Unary::Not) {
    result.integer = is_float(type) ? operand.real == 0 : operand.integer == 0;
  } else if (is_float(type)) {
    result.real = apply_real(function, operand.real);
  } else {
    const bool above_signed = type == ElementType::UInt64 && operand.integer < 0;
    if (above_signed && function == Unary::Sign) {
      result.integer = 1;
    } else if (above_signed && function == Unary::Absolute) {
      result = operand;
    } else {
      result.integer = wrap(apply_integer(function, operand.integer), type);
    }
  }
  return result;
}

Value apply(Binary function, ElementType type, Value left, Value right) {
  Value result;
  const auto a = static_cast<uint64_t>(left.integer), b = static_cast<uint64_t>(right.integer);
  if (gives_bool(function)) {
    result.integer = is_float(type)                ? compare(function, left.real, right.real)
                     : type == ElementType::UInt64 ? compare(function, a, b)
                                                   : compare(function, left.integer, right.integer);
  } else if (is_float(type)) {
    result.real = apply_real(function, left.real, right.real);
  } else if (type == ElementType::UInt64 &&
             (function == Binary::Divide || function == Binary::Modulo ||
              function == Binary::Minimum || function == Binary::Maximum)) {
    result.integer = apply_unsigned(function, a, b);
  } else {
    result.integer = wrap(apply_signed(function, left.integer, right.integer), type);
  }
  return result;
}

}  // namespace opsmith::expression::interpreter
