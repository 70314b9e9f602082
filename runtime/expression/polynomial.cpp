#include "runtime/expression/polynomial.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::expression {

int64_t add(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) throw UserError("an index overflows 64 bits");
  return result;
}

int64_t multiply(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) throw UserError("an index overflows 64 bits");
  return result;
}

bool MonomialLess::operator()(const Monomial& a, const Monomial& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), IndexLess());
}

Polynomial product(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const auto& [left, x] : a.terms) {
    for (const auto& [right, y] : b.terms) {
      Monomial merged(left);
      merged.insert(merged.end(), right.begin(), right.end());
      std::sort(merged.begin(), merged.end(), IndexLess());
      result.add_term(merged, multiply(x, y));
    }
  }
  return result;
}

Index build(const Monomial& monomial) {
  Index result = 1;
  for (const Index& atom : monomial) result = result * atom;
  return result;
}

Index build(const Polynomial& polynomial) {
  std::vector<std::pair<const Monomial*, int64_t>> terms;
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    if (!monomial.empty()) terms.emplace_back(&monomial, coefficient);
  }
  std::stable_sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
    if ((a.second > 0) != (b.second > 0)) return a.second > 0;
    return a.second > b.second;
  });
  Index sum = 0;
  for (const auto& [monomial, coefficient] : terms) {
    const bool subtract = coefficient < 0 && coefficient != INT64_MIN && !sum.is_constant(0);
    const Index term = build(*monomial) * Index(subtract ? -coefficient : coefficient);
    sum = subtract ? sum - term : sum + term;
  }
  const int64_t constant = polynomial.constant_term();
  return constant < 0 && constant != INT64_MIN && !sum.is_constant() ? sum - Index(-constant)
                                                                     : sum + Index(constant);
}

}  // namespace opsmith::expression
