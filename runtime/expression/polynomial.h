#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "runtime/expression/index.h"

namespace opsmith::expression {

/// Arithmetic that throws UserError on a 64-bit overflow.
int64_t add(int64_t a, int64_t b);
int64_t multiply(int64_t a, int64_t b);

struct IndexLess {
  bool operator()(const Index& a, const Index& b) const { return compare(a, b) < 0; }
};

/// Product of atoms, sorted; empty for the constant term.
using Monomial = std::vector<Index>;

struct MonomialLess {
  bool operator()(const Monomial& a, const Monomial& b) const;
};

/// Sum of coefficient * monomial; no coefficient is zero.
struct Polynomial {
  std::map<Monomial, int64_t, MonomialLess> terms;

  static Polynomial constant(int64_t value) {
    Polynomial result;
    result.add_term({}, value);
    return result;
  }
  static Polynomial atom(Index index) {
    Polynomial result;
    result.terms[{std::move(index)}] = 1;
    return result;
  }
  void add_term(const Monomial& monomial, int64_t coefficient) {
    if (coefficient == 0) return;
    const auto [place, fresh] = terms.try_emplace(monomial, coefficient);
    if (fresh) return;
    place->second = add(place->second, coefficient);
    if (place->second == 0) terms.erase(place);
  }
  void accumulate(const Polynomial& other, int64_t factor = 1) {
    for (const auto& [monomial, coefficient] : other.terms) {
      add_term(monomial, multiply(coefficient, factor));
    }
  }
  std::optional<int64_t> as_constant() const {
    if (terms.empty()) return 0;
    if (terms.size() == 1 && terms.begin()->first.empty()) return terms.begin()->second;
    return std::nullopt;
  }
  int64_t constant_term() const {
    const auto found = terms.find({});
    return found == terms.end() ? 0 : found->second;
  }
};

Polynomial product(const Polynomial& a, const Polynomial& b);

/// Back to an index: positive terms first, large strides before small ones, the constant last.
Index build(const Polynomial& polynomial);
Index build(const Monomial& monomial);

}  // namespace opsmith::expression
