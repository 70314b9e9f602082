#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "runtime/expression/index.h"

namespace opsmith::substitute {

/// What a size variable stands for; told by the form of its name.
enum class VariableKind : uint8_t {
  Primary,      ///< starts with a capital (N, C_in, C_out, H, W, M, K): large, never divides
  Coefficient,  ///< any other name (k, stride, g): small, may stand in a denominator
  Dynamic,      ///< x_1, x_2, ...: a free width that a solver fills, never divides
};
VariableKind variable_kind(const std::string& name);

/// A symbolic extent: a monomial of size variables with integer powers times a positive rational
/// factor ("C_in/(2*g)", "stride*H_out"). Syno, section 5.3; Canvas, section 6.
class Size {
 public:
  Size(int64_t value = 1);  // NOLINT: a number is a size
  static Size variable(const std::string& name, int power = 1);

  int64_t numerator() const { return numerator_; }
  int64_t denominator() const { return denominator_; }
  /// Powers by variable, none zero.
  const std::map<std::string, int>& powers() const { return powers_; }
  int power(const std::string& variable) const;

  bool is_constant() const { return powers_.empty(); }
  bool is_constant(int64_t value) const;
  /// No primary and no dynamic variable stands in a denominator.
  bool is_legal() const;

  /// The number under a binding of all its variables; nullopt when the division is not exact.
  /// Throws UserError naming a variable that is not bound.
  std::optional<int64_t> evaluate(const expression::Binding& values) const;

  /// The size with each variable replaced by an index (a constant, a symbol or an expression).
  /// Numbers divide exactly or UserError is thrown; what still contains symbols is divided by
  /// floor division. Throws UserError naming a variable without a value.
  expression::Index to_index(const std::map<std::string, expression::Index>& values) const;

  friend Size operator*(const Size& a, const Size& b);
  friend Size operator/(const Size& a, const Size& b);
  bool operator==(const Size&) const = default;
  auto operator<=>(const Size&) const = default;

 private:
  int64_t numerator_ = 1;
  int64_t denominator_ = 1;
  std::map<std::string, int> powers_;
};

Size operator*(const Size& a, const Size& b);
Size operator/(const Size& a, const Size& b);
/// a / b where the quotient is legal (`is_legal`) whatever the variables are; nullopt otherwise.
std::optional<Size> divide(const Size& a, const Size& b);

/// "2*C_in*k/(3*g^2)"; parse_size reads it back and throws UserError on anything else.
std::string to_string(const Size& size);
Size parse_size(const std::string& text);

}  // namespace opsmith::substitute
