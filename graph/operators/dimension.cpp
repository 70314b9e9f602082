#include "graph/operators/dimension.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::graph {
namespace {

/// Longer expressions become unknown dimensions: they no longer help anyone.
constexpr size_t kLongestSymbol = 80;

bool says_nothing(const Dimension& d) { return !d.known() && d.symbol.empty(); }

std::string operand(const Dimension& d) {
  if (d.known()) return std::to_string(*d.size);
  return d.symbol.find(' ') == std::string::npos ? d.symbol : "(" + d.symbol + ")";
}

Dimension spell(const Dimension& a, const char* sign, const Dimension& b) {
  if (says_nothing(a) || says_nothing(b)) return {};
  std::string text = operand(a) + " " + sign + " " + operand(b);
  return text.size() > kLongestSymbol ? Dimension() : Dimension::named(std::move(text));
}

[[noreturn]] void overflow() { throw UserError("a dimension is too large"); }

int64_t floor_number(int64_t a, int64_t b) {
  if (b == -1) {
    int64_t negated = 0;
    if (__builtin_sub_overflow(int64_t{0}, a, &negated)) overflow();
    return negated;
  }
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/// Whether `a` is spelled as the minimum of `b` and something else.
bool is_minimum_of(const Dimension& a, const Dimension& b) {
  return !b.symbol.empty() && a.symbol.starts_with("min(" + b.symbol + ", ");
}

/// A product as a number and sorted symbols; nullopt when a factor is unknown.
struct Factors {
  int64_t number = 1;
  std::vector<std::string> symbols;
};

std::optional<Factors> factorize(const SymbolicShape& shape, size_t begin, size_t end) {
  Factors factors;
  bool unknown = false;
  for (size_t i = begin; i < end; ++i) {
    const Dimension& d = shape[i];
    if (d.known()) {
      if (__builtin_mul_overflow(factors.number, *d.size, &factors.number)) overflow();
    } else if (!d.symbol.empty()) {
      factors.symbols.push_back(d.symbol);
    } else {
      unknown = true;
    }
  }
  std::sort(factors.symbols.begin(), factors.symbols.end());
  if (factors.number == 0) return Factors{0, {}};
  if (unknown) return std::nullopt;
  return factors;
}

Dimension to_dimension(const Factors& factors) {
  Dimension result(1);
  for (const std::string& symbol : factors.symbols) result = result * Dimension::named(symbol);
  return factors.number == 1 ? result : Dimension(factors.number) * result;
}

}  // namespace

Dimension operator+(const Dimension& a, const Dimension& b) {
  if (a.known() && b.known()) {
    int64_t sum = 0;
    if (__builtin_add_overflow(*a.size, *b.size, &sum)) overflow();
    return sum;
  }
  if (a.known() && *a.size == 0) return b;
  if (b.known() && *b.size == 0) return a;
  if (b.known() && *b.size < 0 && *b.size != INT64_MIN) return spell(a, "-", -*b.size);
  return spell(a, "+", b);
}

Dimension operator-(const Dimension& a, const Dimension& b) {
  if (b.known()) {
    if (*b.size == INT64_MIN) overflow();
    return a + Dimension(-*b.size);
  }
  if (!a.symbol.empty() && a.symbol == b.symbol) return 0;
  return spell(a, "-", b);
}

Dimension operator*(const Dimension& a, const Dimension& b) {
  if (a.known() && b.known()) {
    int64_t result = 0;
    if (__builtin_mul_overflow(*a.size, *b.size, &result)) overflow();
    return result;
  }
  if (a.known() && *a.size == 1) return b;
  if (b.known() && *b.size == 1) return a;
  if ((a.known() && *a.size == 0) || (b.known() && *b.size == 0)) return 0;
  return spell(a, "*", b);
}

Dimension floor_divide(const Dimension& a, const Dimension& b) {
  if (b.known() && *b.size == 0) throw UserError("a dimension is divided by zero");
  if (a.known() && b.known()) return floor_number(*a.size, *b.size);
  if (b.known() && *b.size == 1) return a;
  if (!a.symbol.empty() && a.symbol == b.symbol) return 1;
  return spell(a, "/", b);
}

Dimension ceil_divide(const Dimension& a, const Dimension& b) {
  return floor_divide(a + (b - Dimension(1)), b);
}

Dimension minimum(const Dimension& a, const Dimension& b) {
  if (a.known() && b.known()) return std::min(*a.size, *b.size);
  if (says_nothing(a) || says_nothing(b)) return {};
  if (a == b) return a;
  if (a.known()) return minimum(b, a);
  std::string text =
      "min(" + a.symbol + ", " + (b.known() ? std::to_string(*b.size) : b.symbol) + ")";
  return text.size() > kLongestSymbol ? Dimension() : Dimension::named(std::move(text));
}

std::optional<Dimension> unify(const Dimension& a, const Dimension& b) {
  if (a.known() && b.known() && *a.size != *b.size) return std::nullopt;
  if (a.known()) return a;
  if (b.known()) return b;
  return a.symbol.empty() ? b : a;
}

std::optional<SymbolicShape> unify(const SymbolicShape& a, const SymbolicShape& b) {
  if (a.size() != b.size()) return std::nullopt;
  SymbolicShape result;
  for (size_t i = 0; i < a.size(); ++i) {
    const std::optional<Dimension> dimension = unify(a[i], b[i]);
    if (!dimension) return std::nullopt;
    result.push_back(*dimension);
  }
  return result;
}

std::optional<SymbolicShape> common(const std::optional<SymbolicShape>& a,
                                    const std::optional<SymbolicShape>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  SymbolicShape result;
  for (size_t i = 0; i < a->size(); ++i) {
    result.push_back((*a)[i] == (*b)[i] ? (*a)[i] : Dimension());
  }
  return result;
}

std::optional<SymbolicShape> broadcast(const SymbolicShape& a, const SymbolicShape& b) {
  const size_t rank = std::max(a.size(), b.size());
  SymbolicShape result(rank);
  for (size_t i = 0; i < rank; ++i) {
    const Dimension left = i + a.size() < rank ? Dimension(1) : a[i + a.size() - rank];
    const Dimension right = i + b.size() < rank ? Dimension(1) : b[i + b.size() - rank];
    if (left == right || right == Dimension(1) || is_minimum_of(right, left)) {
      result[i] = left;
    } else if (left == Dimension(1) || is_minimum_of(left, right)) {
      result[i] = right;
    } else if (left.known() && right.known()) {
      return std::nullopt;
    } else if (left.known() || right.known()) {
      result[i] = left.known() ? left : right;
    }
  }
  return result;
}

Dimension product(const SymbolicShape& shape, size_t begin, size_t end) {
  const std::optional<Factors> factors = factorize(shape, begin, end);
  return factors ? to_dimension(*factors) : Dimension();
}

std::optional<Dimension> quotient(const SymbolicShape& whole, const SymbolicShape& parts) {
  const std::optional<Factors> above = factorize(whole, 0, whole.size());
  const std::optional<Factors> below = factorize(parts, 0, parts.size());
  if (!above || !below || below->number == 0) return Dimension();
  Factors rest;
  auto divisor = below->symbols.begin();
  for (const std::string& symbol : above->symbols) {
    if (divisor != below->symbols.end() && *divisor == symbol) {
      ++divisor;
    } else {
      rest.symbols.push_back(symbol);
    }
  }
  if (divisor != below->symbols.end()) return Dimension();
  if (above->number % below->number != 0) {
    if (rest.symbols.empty()) return std::nullopt;
    return floor_divide(to_dimension(Factors{above->number, rest.symbols}), below->number);
  }
  rest.number = above->number / below->number;
  return to_dimension(rest);
}

}  // namespace opsmith::graph
