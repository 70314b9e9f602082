#include "substitute/operator/size.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

#include "substitute/operator/text/lexer.h"
#include "support/error.h"

namespace opsmith::substitute {

using expression::Index;

namespace {

int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw UserError("a size is too large to represent");
  return product;
}

/// Factors joined by '*', "1" when there are none.
std::string join(const std::vector<std::string>& factors) {
  std::string text;
  for (const std::string& factor : factors) text += (text.empty() ? "" : "*") + factor;
  return text.empty() ? "1" : text;
}

}  // namespace

VariableKind variable_kind(const std::string& name) {
  if (name.empty()) throw UserError("a size variable has no name");
  const bool numbered = name.size() > 2 && name.starts_with("x_") &&
                        std::all_of(name.begin() + 2, name.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
  if (numbered) return VariableKind::Dynamic;
  return std::isupper(static_cast<unsigned char>(name[0])) != 0 ? VariableKind::Primary
                                                                : VariableKind::Coefficient;
}

Size::Size(int64_t value) : numerator_(value) {
  if (value <= 0) throw UserError("a size must be positive, not " + std::to_string(value));
}

Size Size::variable(const std::string& name, int power) {
  variable_kind(name);
  Size size;
  if (power != 0) size.powers_[name] = power;
  return size;
}

int Size::power(const std::string& variable) const {
  const auto found = powers_.find(variable);
  return found == powers_.end() ? 0 : found->second;
}

bool Size::is_constant(int64_t value) const {
  return powers_.empty() && denominator_ == 1 && numerator_ == value;
}

bool Size::is_legal() const {
  return std::all_of(powers_.begin(), powers_.end(), [](const auto& entry) {
    return entry.second > 0 || variable_kind(entry.first) == VariableKind::Coefficient;
  });
}

std::optional<int64_t> Size::evaluate(const expression::Binding& values) const {
  int64_t above = numerator_, below = denominator_;
  for (const auto& [name, power] : powers_) {
    const auto found = values.find(name);
    if (found == values.end())
      throw UserError("the size variable " + name + " has no value in " + to_string(*this));
    for (int i = 0; i < std::abs(power); ++i) {
      int64_t& side = power > 0 ? above : below;
      side = checked_multiply(side, found->second);
    }
  }
  if (below == 0 || above % below != 0) return std::nullopt;
  return above / below;
}

Index Size::to_index(const std::map<std::string, Index>& values) const {
  int64_t above = numerator_, below = denominator_;
  std::vector<Index> symbolic_above, symbolic_below;
  for (const auto& [name, power] : powers_) {
    const auto found = values.find(name);
    if (found == values.end())
      throw UserError("the size variable " + name + " has no value in " + to_string(*this));
    for (int i = 0; i < std::abs(power); ++i) {
      if (found->second.is_constant()) {
        int64_t& side = power > 0 ? above : below;
        side = checked_multiply(side, found->second.value());
      } else {
        (power > 0 ? symbolic_above : symbolic_below).push_back(found->second);
      }
    }
  }
  const int64_t common = std::gcd(above, below);
  if (common == 0) throw UserError("a variable of the size " + to_string(*this) + " is zero");
  above /= common;
  below /= common;
  if (symbolic_above.empty() && symbolic_below.empty()) {
    if (below != 1)
      throw UserError("the size " + to_string(*this) + " = " + std::to_string(above) + "/" +
                      std::to_string(below) + " is not a whole number");
    return Index(above);
  }
  const auto product = [](int64_t constant, const std::vector<Index>& factors) {
    if (factors.empty()) return Index(constant);
    Index result = factors[0];
    for (size_t i = 1; i < factors.size(); ++i) result = result * factors[i];
    return constant == 1 ? result : result * Index(constant);
  };
  const Index top = product(above, symbolic_above);
  const Index bottom = product(below, symbolic_below);
  return bottom.is_constant(1) ? top : floor_div(top, bottom);
}

Size operator*(const Size& a, const Size& b) {
  // Cancelling crosswise first keeps the products small.
  const int64_t first = std::gcd(a.numerator_, b.denominator_);
  const int64_t second = std::gcd(b.numerator_, a.denominator_);
  Size result;
  result.numerator_ = checked_multiply(a.numerator_ / first, b.numerator_ / second);
  result.denominator_ = checked_multiply(a.denominator_ / second, b.denominator_ / first);
  result.powers_ = a.powers_;
  for (const auto& [name, power] : b.powers_)
    if ((result.powers_[name] += power) == 0) result.powers_.erase(name);
  return result;
}

Size operator/(const Size& a, const Size& b) {
  Size inverse;
  inverse.numerator_ = b.denominator_;
  inverse.denominator_ = b.numerator_;
  for (const auto& [name, power] : b.powers_) inverse.powers_[name] = -power;
  return a * inverse;
}

std::optional<Size> divide(const Size& a, const Size& b) {
  const Size quotient = a / b;
  if (!quotient.is_legal()) return std::nullopt;
  return quotient;
}

std::string to_string(const Size& size) {
  std::vector<std::string> above, below;
  if (size.numerator() != 1) above.push_back(std::to_string(size.numerator()));
  if (size.denominator() != 1) below.push_back(std::to_string(size.denominator()));
  for (const auto& [name, power] : size.powers()) {
    const int magnitude = std::abs(power);
    (power > 0 ? above : below)
        .push_back(magnitude == 1 ? name : name + "^" + std::to_string(magnitude));
  }
  if (below.empty()) return join(above);
  const std::string bottom = join(below);
  return join(above) + "/" + (below.size() == 1 ? bottom : "(" + bottom + ")");
}

Size parse_size(const std::string& text) {
  text::Lexer lexer(text);
  Size size = text::read_size(lexer);
  lexer.expect_end();
  return size;
}

}  // namespace opsmith::substitute
