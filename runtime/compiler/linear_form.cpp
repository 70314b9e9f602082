#include "runtime/compiler/linear_form.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::compiler {
namespace {

using expression::Range;

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

LinearForm operator+(const LinearForm& a, const LinearForm& b) {
  LinearForm sum(a.constant + b.constant);
  sum.terms.reserve(a.terms.size() + b.terms.size());
  auto i = a.terms.begin();
  auto j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->atom < j->atom)) {
      sum.terms.push_back(*i++);
    } else if (i == a.terms.end() || j->atom < i->atom) {
      sum.terms.push_back(*j++);
    } else {
      const int64_t coefficient = i->coefficient + j->coefficient;
      if (coefficient != 0) sum.terms.push_back({i->atom, coefficient});
      ++i;
      ++j;
    }
  }
  return sum;
}

LinearForm operator-(const LinearForm& a, const LinearForm& b) { return a + b * -1; }

LinearForm operator*(const LinearForm& a, int64_t factor) {
  if (factor == 0) return {};
  LinearForm product = a;
  product.constant *= factor;
  for (LinearForm::Term& term : product.terms) term.coefficient *= factor;
  return product;
}

LinearForm Atoms::loop(Range range) {
  if (range.end - range.begin == 1) return range.begin;
  LinearForm form = lane(range.end);
  atoms_.back().range = range;
  return form;
}

LinearForm Atoms::lane(int64_t lanes) {
  LinearForm form;
  form.terms.push_back({static_cast<int>(atoms_.size()), 1});
  atoms_.push_back({Kind::Loop, {0, lanes}, {}, {}, 1});
  return form;
}

int Atoms::intern(Kind kind, const LinearForm& operand, const LinearForm& other, int64_t divisor,
                  Range range) {
  const auto [entry, fresh] = known_.try_emplace({kind, operand, other, divisor}, 0);
  if (fresh) {
    entry->second = static_cast<int>(atoms_.size());
    atoms_.push_back({kind, range, operand, other, divisor});
  }
  return entry->second;
}

Range Atoms::range(const LinearForm& a) const {
  Range result{a.constant, a.constant + 1};
  for (const LinearForm::Term& term : a.terms) {
    const Range& inner = at(term.atom).range;
    const int64_t first = inner.begin * term.coefficient;
    const int64_t last = (inner.end - 1) * term.coefficient;
    result.begin += std::min(first, last);
    result.end += std::max(first, last);
  }
  return result;
}

LinearForm Atoms::quotient(const LinearForm& a, int64_t divisor) {
  require(divisor > 0, "a quotient needs a positive divisor");
  if (divisor == 1) return a;
  // a = divisor * whole + rest
  LinearForm whole(floor_quotient(a.constant, divisor));
  LinearForm rest(a.constant - whole.constant * divisor);
  for (const LinearForm::Term& term : a.terms) {
    const int64_t part = term.coefficient / divisor;
    const int64_t left = term.coefficient - part * divisor;
    if (part != 0) whole.terms.push_back({term.atom, part});
    if (left != 0) rest.terms.push_back({term.atom, left});
  }
  const Range range = this->range(rest);
  const int64_t first = floor_quotient(range.begin, divisor);
  const int64_t last = floor_quotient(range.end - 1, divisor);
  if (first == last) return whole + first;
  // (x / d1) / d2 = x / (d1 * d2)
  if (whole.is_constant() && rest.constant == 0 && rest.terms.size() == 1 &&
      rest.terms[0].coefficient == 1) {
    const Atom inner = at(rest.terms[0].atom);
    if (inner.kind == Kind::Quotient) {
      return whole + quotient(inner.operand, inner.divisor * divisor);
    }
  }
  LinearForm atom;
  atom.terms.push_back({intern(Kind::Quotient, rest, {}, divisor, {first, last + 1}), 1});
  return whole + atom;
}

LinearForm Atoms::remainder(const LinearForm& a, int64_t divisor) {
  require(divisor > 0, "a remainder needs a positive divisor");
  if (divisor == 1) return 0;
  LinearForm rest(a.constant - floor_quotient(a.constant, divisor) * divisor);
  for (const LinearForm::Term& term : a.terms) {
    const int64_t left = term.coefficient % divisor;
    if (left != 0) rest.terms.push_back({term.atom, left});
  }
  const Range range = this->range(rest);
  const int64_t first = floor_quotient(range.begin, divisor);
  const int64_t last = floor_quotient(range.end - 1, divisor);
  if (first == last) return rest - first * divisor;
  LinearForm atom;
  atom.terms.push_back({intern(Kind::Remainder, rest, {}, divisor, {0, divisor}), 1});
  return atom;
}

LinearForm Atoms::product(const LinearForm& a, const LinearForm& b) {
  if (a.is_constant()) return b * a.constant;
  if (b.is_constant()) return a * b.constant;
  const bool ordered = a < b;
  const LinearForm& first = ordered ? a : b;
  const LinearForm& second = ordered ? b : a;
  const Range r = range(first);
  const Range s = range(second);
  const auto corners = {r.begin * s.begin, r.begin * (s.end - 1), (r.end - 1) * s.begin,
                        (r.end - 1) * (s.end - 1)};
  LinearForm atom;
  atom.terms.push_back(
      {intern(Kind::Product, first, second, 1, {std::min(corners), std::max(corners) + 1}), 1});
  return atom;
}

bool Atoms::depends(const LinearForm& a, int inner) const {
  return std::any_of(a.terms.begin(), a.terms.end(), [&](const LinearForm::Term& term) {
    if (term.atom == inner) return true;
    const Atom& atom = at(term.atom);
    return atom.kind != Kind::Loop && (depends(atom.operand, inner) || depends(atom.other, inner));
  });
}

LinearForm Atoms::replace(const LinearForm& a, int loop, const LinearForm& value) {
  LinearForm result(a.constant);
  for (const LinearForm::Term& term : a.terms) {
    LinearForm single;
    single.terms.push_back({term.atom, 1});
    if (term.atom == loop) {
      single = value;
    } else if (depends(single, loop)) {
      const Atom atom = at(term.atom);
      const LinearForm operand = replace(atom.operand, loop, value);
      switch (atom.kind) {
        case Kind::Quotient:
          single = quotient(operand, atom.divisor);
          break;
        case Kind::Remainder:
          single = remainder(operand, atom.divisor);
          break;
        default:
          single = product(operand, replace(atom.other, loop, value));
      }
    }
    result = result + single * term.coefficient;
  }
  return result;
}

LinearForm Atoms::recombine(LinearForm a) const {
  for (size_t i = 0; i < a.terms.size(); ++i) {
    const Atom& quotient = at(a.terms[i].atom);
    if (quotient.kind != Kind::Quotient) continue;
    for (size_t j = 0; j < a.terms.size(); ++j) {
      const Atom& remainder = at(a.terms[j].atom);
      if (remainder.kind != Kind::Remainder || remainder.divisor != quotient.divisor ||
          a.terms[j].coefficient * quotient.divisor != a.terms[i].coefficient) {
        continue;
      }
      // The operands may differ by multiples of the divisor, which a remainder drops.
      const LinearForm difference = quotient.operand - remainder.operand;
      const bool whole =
          difference.constant % quotient.divisor == 0 &&
          std::all_of(difference.terms.begin(), difference.terms.end(),
                      [&](const auto& term) { return term.coefficient % quotient.divisor == 0; });
      if (!whole) continue;
      const LinearForm joined = quotient.operand * a.terms[j].coefficient;
      LinearForm rest = a;
      rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
      rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
      return recombine(rest + joined);
    }
  }
  return a;
}

}  // namespace opsmith::compiler
