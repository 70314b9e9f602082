// Simplification of index expressions: everything becomes a polynomial in atoms (iterators,
// symbols, quotients, remainders, guarded expressions) with integer coefficients, on which the
// rules for quotients and remainders work.

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "runtime/expression/bounds.h"
#include "runtime/expression/index.h"
#include "runtime/expression/integer.h"
#include "runtime/expression/polynomial.h"
#include "support/error.h"

namespace opsmith::expression {
namespace {

using integer::floor_divide;
using integer::floor_modulo;
using Kind = Index::Kind;

/// Expanding a product beyond this many terms helps nobody; it stays an atom.
constexpr size_t kMostTerms = 64;

class Simplifier {
 public:
  explicit Simplifier(const Ranges& ranges) : ranges_(ranges) {}

  Polynomial polynomial(const Index& index) {
    switch (index.kind()) {
      case Kind::Constant:
        return Polynomial::constant(index.value());
      case Kind::Symbol:
      case Kind::Iterator: {
        const auto known = bounds(index, ranges_);
        if (known && known->low == known->high) return Polynomial::constant(known->low);
        return Polynomial::atom(index);
      }
      default:
        break;
    }
    // The rules look into operands again and again: without memory, time would be exponential in
    // the depth of remainders.
    const auto known = known_.find(index);
    if (known != known_.end()) return known->second;
    return known_.emplace(index, operation(index)).first->second;
  }

 private:
  Polynomial operation(const Index& index) {
    Polynomial left = polynomial(index.left());
    const Polynomial right = polynomial(index.right());
    switch (index.kind()) {
      case Kind::Add:
        left.accumulate(right);
        return recombine(std::move(left));
      case Kind::Sub:
        left.accumulate(right, -1);
        return recombine(std::move(left));
      case Kind::Mul:
        if (left.terms.size() * right.terms.size() > kMostTerms) {
          return Polynomial::atom(build(left) * build(right));
        }
        return product(left, right);
      case Kind::FloorDiv:
        return quotient(left, right);
      case Kind::Mod:
        return remainder(left, right);
      default:
        return guarded(left, right);
    }
  }

  std::optional<Bounds> bounds_of(const Polynomial& p) const { return bounds(build(p), ranges_); }

  /// k such that p is in [k * size, (k + 1) * size) for sure.
  std::optional<int64_t> block_of(const Polynomial& p, int64_t size) const {
    const auto known = bounds_of(p);
    if (!known) return std::nullopt;
    const int64_t block = floor_divide(known->low, size);
    if (block != floor_divide(known->high, size)) return std::nullopt;
    return block;
  }

  Polynomial guarded(const Polynomial& value, const Polynomial& extent) const {
    const auto known = bounds_of(value);
    const auto limit = bounds_of(extent);
    if (known && limit && known->low >= 0 && known->high < limit->low) return value;
    const Index guard = within(build(value), build(extent));
    return guard.is_constant() ? Polynomial::constant(guard.value()) : Polynomial::atom(guard);
  }

  /// p = divisor * first + second, where the second holds what the divisor does not divide.
  static std::pair<Polynomial, Polynomial> split(const Polynomial& p, int64_t divisor) {
    std::pair<Polynomial, Polynomial> parts;
    for (const auto& [monomial, coefficient] : p.terms) {
      if (monomial.empty()) {
        parts.first.add_term(monomial, floor_divide(coefficient, divisor));
        parts.second.add_term(monomial, floor_modulo(coefficient, divisor));
      } else if (coefficient % divisor == 0) {
        parts.first.add_term(monomial, coefficient / divisor);
      } else {
        parts.second.add_term(monomial, coefficient);
      }
    }
    return parts;
  }

  /// A divisor g > 1 of d with p = g * scaled + rest and rest in one block of g: then scaled, with
  /// that block's number added, decides quotients by d.
  struct Grain {
    int64_t size;
    Polynomial scaled;
    Polynomial rest;  ///< in [0, size)
  };
  std::optional<Grain> grain(const Polynomial& p, int64_t d) const {
    std::set<int64_t, std::greater<>> sizes;
    for (const auto& [monomial, coefficient] : p.terms) {
      if (!monomial.empty()) sizes.insert(std::gcd(coefficient, d));
    }
    for (const int64_t size : sizes) {
      if (size <= 1) continue;
      auto [scaled, rest] = split(p, size);
      if (scaled.as_constant()) continue;
      const auto block = block_of(rest, size);
      if (!block) continue;
      scaled.add_term({}, *block);
      rest.add_term({}, multiply(-*block, size));
      return Grain{size, std::move(scaled), std::move(rest)};
    }
    return std::nullopt;
  }

  /// The atom when p is just that, plus a constant.
  static const Index* single_atom(const Polynomial& p) {
    const Index* atom = nullptr;
    for (const auto& [monomial, coefficient] : p.terms) {
      if (monomial.empty()) continue;
      if (atom || monomial.size() != 1 || coefficient != 1) return nullptr;
      atom = &monomial.front();
    }
    return atom;
  }

  static bool positive_constant(const Index& index) {
    return index.is_constant() && index.value() > 0;
  }

  Polynomial divide(const Polynomial& p, int64_t d) {
    if (d == 1) return p;
    auto [whole, rest] = split(p, d);
    if (const auto block = block_of(rest, d)) {
      whole.add_term({}, *block);
      return whole;
    }
    if (const auto coarse = grain(rest, d)) {
      whole.accumulate(divide(coarse->scaled, d / coarse->size));
      return whole;
    }
    const Index* atom = single_atom(rest);
    int64_t divisor = 0;
    if (atom && atom->kind() == Kind::FloorDiv && positive_constant(atom->right()) &&
        !__builtin_mul_overflow(atom->right().value(), d, &divisor)) {
      // (x / e + c) / d = (x + c e) / (d e)
      Polynomial inner = polynomial(atom->left());
      inner.add_term({}, multiply(rest.constant_term(), atom->right().value()));
      whole.accumulate(divide(inner, divisor));
      return whole;
    }
    if (atom && atom->kind() == Kind::Mod && positive_constant(atom->right()) &&
        atom->right().value() % d == 0 && rest.constant_term() == 0) {
      // (x mod (d f)) / d = (x / d) mod f
      whole.accumulate(modulo(divide(polynomial(atom->left()), d), atom->right().value() / d));
      return whole;
    }
    whole.accumulate(Polynomial::atom(floor_div(build(rest), d)));
    return whole;
  }

  Polynomial modulo(const Polynomial& p, int64_t d) {
    if (d == 1) return {};
    Polynomial rest;
    for (const auto& [monomial, coefficient] : p.terms) {
      const bool reduce =
          monomial.empty() || coefficient % d == 0 || coefficient >= d || coefficient <= -d;
      const int64_t kept = reduce ? floor_modulo(coefficient, d) : coefficient;
      const Index* atom = monomial.size() == 1 ? &monomial.front() : nullptr;
      if (kept != 0 && atom && atom->kind() == Kind::Mod && positive_constant(atom->right()) &&
          multiply(kept, atom->right().value()) % d == 0) {
        // (x mod (d f)) mod d = x mod d
        rest.accumulate(polynomial(atom->left()), kept);
      } else {
        rest.add_term(monomial, kept);
      }
    }
    if (const auto block = block_of(rest, d)) {
      rest.add_term({}, multiply(-*block, d));
      return rest;
    }
    if (const auto coarse = grain(rest, d)) {
      Polynomial result = coarse->rest;
      result.accumulate(modulo(coarse->scaled, d / coarse->size), coarse->size);
      return result;
    }
    return Polynomial::atom(mod(build(rest), d));
  }

  /// p = divisor * first + second for a divisor of one term with symbols.
  static std::optional<std::pair<Polynomial, Polynomial>> split(const Polynomial& p,
                                                                const Polynomial& divisor) {
    if (divisor.terms.size() != 1) return std::nullopt;
    const auto& [factors, scale] = *divisor.terms.begin();
    std::pair<Polynomial, Polynomial> parts;
    for (const auto& [monomial, coefficient] : p.terms) {
      const bool divisible =
          coefficient % scale == 0 && std::includes(monomial.begin(), monomial.end(),
                                                    factors.begin(), factors.end(), IndexLess());
      if (!divisible) {
        parts.second.add_term(monomial, coefficient);
        continue;
      }
      Monomial left;
      std::set_difference(monomial.begin(), monomial.end(), factors.begin(), factors.end(),
                          std::back_inserter(left), IndexLess());
      parts.first.add_term(left, coefficient / scale);
    }
    return parts;
  }

  bool below(const Polynomial& p, const Polynomial& limit) const {
    const auto known = bounds_of(p);
    const auto bound = bounds_of(limit);
    return known && bound && known->low >= 0 && known->high < bound->low;
  }

  Polynomial quotient(const Polynomial& p, const Polynomial& divisor) {
    const auto constant = divisor.as_constant();
    if (constant && *constant > 0) return divide(p, *constant);
    if (constant && *constant < 0 && *constant != INT64_MIN) {
      Polynomial negated;
      negated.accumulate(p, -1);
      return divide(negated, -*constant);
    }
    if (!constant) {
      if (auto parts = split(p, divisor)) {
        if (!parts->second.terms.empty() && !below(parts->second, divisor)) {
          parts->first.accumulate(
              Polynomial::atom(floor_div(build(parts->second), build(divisor))));
        }
        return parts->first;
      }
      if (below(p, divisor)) return {};
    }
    return Polynomial::atom(floor_div(build(p), build(divisor)));
  }

  Polynomial remainder(const Polynomial& p, const Polynomial& divisor) {
    const auto constant = divisor.as_constant();
    if (constant && *constant > 0) return modulo(p, *constant);
    if (!constant) {
      if (below(p, divisor)) return p;
      if (const auto parts = split(p, divisor)) {
        if (parts->second.terms.empty() || below(parts->second, divisor)) return parts->second;
        return Polynomial::atom(mod(build(parts->second), build(divisor)));
      }
    }
    return Polynomial::atom(mod(build(p), build(divisor)));
  }

  /// k d (x / d) + k (x mod d) = k x, and k e ((x / e) mod f) + k (x mod e) = k (x mod (e f)).
  Polynomial recombine(Polynomial p) {
    for (const auto& [monomial, coefficient] : p.terms) {
      if (monomial.size() != 1 || monomial.front().kind() != Kind::Mod) continue;
      const Index low = monomial.front();
      const int64_t k = coefficient;
      if (!positive_constant(low.right())) continue;
      const int64_t size = low.right().value();
      int64_t stride = 0;
      if (__builtin_mul_overflow(k, size, &stride)) continue;
      std::optional<Index> quotient_of_low;
      for (const auto& [other, factor] : p.terms) {
        if (factor != stride || other.size() != 1) continue;
        const Index high = other.front();
        if (!quotient_of_low) quotient_of_low = build(divide(polynomial(low.left()), size));
        const Index& upper = *quotient_of_low;
        int64_t joined = 0;
        const bool whole = high == upper;
        const bool part = high.kind() == Kind::Mod && high.left() == upper &&
                          positive_constant(high.right()) &&
                          !__builtin_mul_overflow(high.right().value(), size, &joined);
        if (!whole && !part) continue;
        p.add_term({low}, -k);
        p.add_term({high}, -stride);
        Polynomial inner = polynomial(low.left());
        p.accumulate(whole ? inner : modulo(inner, joined), k);
        return recombine(std::move(p));
      }
    }
    return p;
  }

  const Ranges& ranges_;
  std::map<Index, Polynomial, IndexLess> known_;
};

/// Guards that stand somewhere inside.
std::set<Index, IndexLess> guards(const Index& index) {
  std::set<Index, IndexLess> found;
  if (!index.has_within()) return found;
  visit(index, [&](const Index& node) {
    if (node.kind() == Kind::Within) found.insert(node);
  });
  return found;
}

}  // namespace

Index simplify(const Index& index, const Ranges& ranges) {
  if (index.kind() < Kind::Add) {
    const auto known = bounds(index, ranges);
    return known && known->low == known->high ? Index(known->low) : index;
  }
  Index result = build(Simplifier(ranges).polynomial(index));
  if (!index.has_within()) return result;
  // Cancelling terms may have taken a guard along that must stay; then only the parts simplify.
  const Index left = simplify(index.left(), ranges), right = simplify(index.right(), ranges);
  const auto kept = guards(result);
  for (const Index& part : {left, right}) {
    for (const Index& guard : guards(part)) {
      if (!kept.contains(guard)) return Index::binary(index.kind(), left, right);
    }
  }
  return result;
}

std::optional<Range> value_range(const Index& index, const Ranges& ranges) {
  const auto known = bounds(simplify(index, ranges), ranges);
  if (!known || known->high == INT64_MAX) return std::nullopt;
  return Range{known->low, known->high + 1};
}

bool as_affine(const Index& index, Affine& affine) {
  if (index.has_within()) return false;
  const Polynomial polynomial = Simplifier({}).polynomial(index);
  Affine result;
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    if (monomial.empty()) {
      result.constant = coefficient;
    } else if (monomial.size() == 1 && monomial.front().kind() == Kind::Iterator) {
      result.coefficients[monomial.front().name()] = coefficient;
    } else {
      return false;
    }
  }
  affine = std::move(result);
  return true;
}

Index LinearForm::index() const {
  Index sum = 0;
  for (const Term& term : terms) sum = sum + term.factor * Index(term.coefficient);
  return sum + Index(constant);
}

LinearForm linear_form(const Index& index, const Ranges& ranges) {
  LinearForm form;
  const Polynomial polynomial = Simplifier(ranges).polynomial(index);
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    if (monomial.empty()) {
      form.constant = coefficient;
    } else {
      form.terms.push_back({build(monomial), coefficient});
    }
  }
  return form;
}

}  // namespace opsmith::expression
