#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "runtime/expression/index.h"

namespace opsmith::compiler {

/// An integer expression as constant + sum(coefficient * atom), the form in which addresses are
/// compared and emitted. Terms are sorted by atom; no coefficient is zero.
struct LinearForm {
  struct Term {
    int atom = 0;
    int64_t coefficient = 0;
    auto operator<=>(const Term&) const = default;
  };
  int64_t constant = 0;
  std::vector<Term> terms;

  LinearForm() = default;
  LinearForm(int64_t value) : constant(value) {}  // NOLINT: a number is a form
  bool is_constant() const { return terms.empty(); }
  auto operator<=>(const LinearForm&) const = default;
};

LinearForm operator+(const LinearForm& a, const LinearForm& b);
LinearForm operator-(const LinearForm& a, const LinearForm& b);
LinearForm operator*(const LinearForm& a, int64_t factor);

/// The atoms of linear forms: loop variables with their ranges, and what is not linear in them
/// (floored quotients, remainders, products). Equal atoms have one number, so that equal forms
/// compare equal; an atom's number is greater than those of the atoms inside it.
class Atoms {
 public:
  enum class Kind : uint8_t { Loop, Quotient, Remainder, Product };
  struct Atom {
    Kind kind = Kind::Loop;
    expression::Range range;  ///< half open
    LinearForm operand;       ///< of a quotient, remainder or product
    LinearForm other;         ///< second factor of a product
    int64_t divisor = 1;
  };

  /// A new loop variable with values in `range`.
  LinearForm loop(expression::Range range);
  /// A variable over the lanes of a vector: an atom even where there is only one lane.
  LinearForm lane(int64_t lanes);
  const Atom& at(int atom) const { return atoms_[static_cast<size_t>(atom)]; }

  /// Floored, simplified with the ranges of the atoms. `divisor` is positive.
  LinearForm quotient(const LinearForm& a, int64_t divisor);
  LinearForm remainder(const LinearForm& a, int64_t divisor);
  LinearForm product(const LinearForm& a, const LinearForm& b);

  expression::Range range(const LinearForm& a) const;
  /// Whether `inner` occurs in `a`, possibly inside other atoms.
  bool depends(const LinearForm& a, int inner) const;
  /// Replaces a loop variable by a form, simplifying again.
  LinearForm replace(const LinearForm& a, int loop, const LinearForm& value);
  /// Joins k * (a / d) and k/d * (a mod d) into one linear form where both occur.
  LinearForm recombine(LinearForm a) const;

 private:
  int intern(Kind kind, const LinearForm& operand, const LinearForm& other, int64_t divisor,
             expression::Range range);

  std::vector<Atom> atoms_;
  std::map<std::tuple<Kind, LinearForm, LinearForm, int64_t>, int> known_;
};

}  // namespace opsmith::compiler
