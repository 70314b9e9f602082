#include "runtime/expression/inversion.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

namespace opsmith::expression {
namespace {

/// More steps than any index that people write needs, and nodes in a solution: beyond, a scatter is
/// the better choice.
constexpr int kMostSteps = 60;
constexpr int kMostNodes = 150;

int count_nodes(const Index& index) {
  int count = 0;
  visit(index, [&](const Index&) { ++count; });
  return count;
}

class Solver {
 public:
  Solver(const std::vector<Axis>& iterators, const std::set<std::string>& taken)
      : active_(iterators), taken_(taken) {
    for (const Axis& axis : iterators) {
      add_range(axis);
      originals_.insert(axis.name);
    }
  }

  /// A new iterator that stands for an element's position along one dimension.
  Axis element(const Index& extent) {
    Axis axis{fresh("i"), extent};
    add_range(axis);
    elements_.push_back(axis);
    return axis;
  }

  /// Demands value = target.
  void demand(const Index& value, const Index& target) {
    equations_.push_back({without_guards(value), target});
  }

  bool solve() {
    for (int step = 0; step < kMostSteps; ++step) {
      if (equations_.empty()) return true;
      if (!advance()) return false;
      for (const Equation& equation : equations_) {
        if (count_nodes(equation.left) + count_nodes(equation.right) > kMostNodes) return false;
      }
    }
    return false;
  }

  Inversion result() {
    Inversion result;
    result.element = elements_;
    result.remaining = active_;
    for (const auto& [name, solution] : solutions_) {
      if (originals_.contains(name)) result.solution[name] = solution;
    }
    for (const Axis& axis : active_) {
      if (originals_.contains(axis.name)) result.solution[axis.name] = Index::iterator(axis.name);
    }
    for (const Inversion::Guard& guard : guards_) {
      if (!holds(guard)) result.guards.push_back(guard);
    }
    return result;
  }

 private:
  struct Equation {
    Index left;   ///< what is to be solved
    Index right;  ///< taken as known
  };
  using Term = LinearForm::Term;

  std::string fresh(const std::string& stem) {
    std::string name;
    for (int i = 0; !taken_.insert(name = stem + std::to_string(i)).second;) ++i;
    return name;
  }
  void add_range(const Axis& axis) {
    if (axis.extent.is_constant()) ranges_[axis.name] = {0, axis.extent.value()};
  }
  /// A new iterator to run over.
  Index introduce(const std::string& stem, const Index& extent) {
    const Axis axis{fresh(stem), extent};
    add_range(axis);
    active_.push_back(axis);
    return Index::iterator(axis.name);
  }

  /// within(e, extent) becomes an iterator u over [0, extent) with e = u: its domain is the guard.
  Index without_guards(const Index& index) {
    if (!index.has_within()) return index;
    const Index left = without_guards(index.left()), right = without_guards(index.right());
    if (index.kind() != Index::Kind::Within) return Index::binary(index.kind(), left, right);
    const Index guarded = introduce("u", right);
    equations_.push_back({left, guarded});
    return guarded;
  }

  const Axis* find_active(const std::string& name) const {
    const auto found = std::find_if(active_.begin(), active_.end(),
                                    [&](const Axis& axis) { return axis.name == name; });
    return found == active_.end() ? nullptr : &*found;
  }
  std::set<std::string> unknowns(const Index& index) const {
    std::set<std::string> found;
    visit(index, [&](const Index& node) {
      if (node.kind() == Index::Kind::Iterator && find_active(node.name())) {
        found.insert(node.name());
      }
    });
    return found;
  }
  const Axis* as_unknown(const Index& index) const {
    return index.kind() == Index::Kind::Iterator ? find_active(index.name()) : nullptr;
  }

  /// v = solution from now on, everywhere.
  void assign(const std::string name, const Index& solution) {
    const auto replacement = [&](const Index& leaf) -> const Index* {
      return leaf.kind() == Index::Kind::Iterator && leaf.name() == name ? &simple_ : nullptr;
    };
    simple_ = simplify(solution, ranges_);
    const auto replace = [&](Index& index) {
      index = simplify(expression::substitute(index, replacement), ranges_);
    };
    for (Equation& equation : equations_) {
      replace(equation.left);
      replace(equation.right);
    }
    for (Inversion::Guard& guard : guards_) replace(guard.value);
    for (auto& [other, value] : solutions_) replace(value);
    const Axis axis = *find_active(name);
    guards_.push_back({simple_, axis.extent, originals_.contains(name) ? name : std::string()});
    solutions_[name] = simple_;
    std::erase_if(active_, [&](const Axis& other) { return other.name == name; });
  }

  /// The equation with everything known on the right and positive leading coefficient.
  struct Form {
    std::vector<Term> terms;
    Index right;
  };
  std::optional<Form> form_of(const Equation& equation) const {
    Form form{{}, equation.right};
    const LinearForm left = linear_form(equation.left, ranges_);
    std::set<std::string> solved_for;
    for (const Term& term : left.terms) {
      const auto names = unknowns(term.factor);
      solved_for.insert(names.begin(), names.end());
      if (names.empty()) {
        form.right = form.right - term.factor * Index(term.coefficient);
      } else {
        form.terms.push_back(term);
      }
    }
    form.right = form.right - Index(left.constant);
    for (const std::string& name : unknowns(form.right)) {
      if (solved_for.contains(name)) return std::nullopt;
    }
    if (!form.terms.empty() && form.terms.front().coefficient < 0) {
      for (Term& term : form.terms) term.coefficient = -term.coefficient;
      form.right = Index(0) - form.right;
    }
    form.right = simplify(form.right, ranges_);
    return form;
  }

  /// Applies the first rule that fits, simple ones to any equation before costly ones.
  bool advance() {
    using Rule = bool (Solver::*)(const Form&);
    for (const Rule rule : {&Solver::nothing_left, &Solver::single_term, &Solver::split_by_stride,
                            &Solver::split_overlap, &Solver::solve_sum, &Solver::name_factor,
                            &Solver::solve_strided}) {
      for (size_t i = 0; i < equations_.size(); ++i) {
        const auto form = form_of(equations_[i]);
        if (!form) return false;
        const Equation equation = equations_[i];
        equations_.erase(equations_.begin() + static_cast<std::ptrdiff_t>(i));
        if ((this->*rule)(*form)) return true;
        equations_.insert(equations_.begin() + static_cast<std::ptrdiff_t>(i), equation);
      }
    }
    return false;
  }

  bool nothing_left(const Form& form) {
    if (!form.terms.empty()) return false;
    guards_.push_back({form.right, 1, {}});
    return true;
  }

  bool single_term(const Form& form) {
    if (form.terms.size() != 1) return false;
    const auto& [factor, coefficient] = form.terms.front();
    if (coefficient != 1) {
      guards_.push_back({mod(form.right, coefficient), 1, {}});
      equations_.push_back({factor, floor_div(form.right, coefficient)});
      return true;
    }
    if (const Axis* unknown = as_unknown(factor)) {
      assign(unknown->name, form.right);
      return true;
    }
    if (factor.kind() == Index::Kind::FloorDiv && unknowns(factor.right()).empty()) {
      const Index rest = introduce("r", factor.right());
      equations_.push_back({factor.left(), form.right * factor.right() + rest});
      return true;
    }
    if (factor.kind() == Index::Kind::Mod && factor.right().is_constant() &&
        factor.right().value() > 0) {
      const auto range = value_range(factor.left(), ranges_);
      if (!range) return false;
      const int64_t period = factor.right().value();
      const int64_t periods = (range->end - range->begin + period - 1) / period;
      Index value = mod(form.right - Index(range->begin), period) + Index(range->begin);
      if (periods > 1) value = value + introduce("q", periods) * Index(period);
      guards_.push_back({form.right, period, {}});
      equations_.push_back({factor.left(), value});
      return true;
    }
    return false;
  }

  /// s * coarse + fine with fine in [low, low + s): coarse and fine are quotient and remainder.
  bool split_by_stride(const Form& form) {
    for (const int64_t stride : strides(form)) {
      LinearForm coarse, fine;
      for (const Term& term : form.terms) {
        if (term.coefficient % stride == 0) {
          coarse.terms.push_back({term.factor, term.coefficient / stride});
        } else {
          fine.terms.push_back(term);
        }
      }
      if (coarse.terms.empty() || fine.terms.empty()) continue;
      const auto range = value_range(fine.index(), ranges_);
      if (!range || range->end - range->begin > stride) continue;
      const Index right = form.right - Index(range->begin);
      equations_.push_back({coarse.index(), floor_div(right, stride)});
      equations_.push_back({fine.index(), mod(right, stride) + Index(range->begin)});
      return true;
    }
    return false;
  }
  static std::set<int64_t, std::greater<>> strides(const Form& form) {
    std::set<int64_t, std::greater<>> found;
    for (const Term& term : form.terms) {
      if (std::abs(term.coefficient) > 1) found.insert(std::abs(term.coefficient));
    }
    return found;
  }

  /// s * coarse + a with a in [0, k), k > s: a = s * a1 + a0.
  bool split_overlap(const Form& form) {
    int64_t stride = 0;
    const Term* fine = nullptr;
    for (const Term& term : form.terms) {
      if (term.coefficient == 1 && !fine && as_unknown(term.factor)) {
        fine = &term;
      } else {
        stride = std::gcd(stride, term.coefficient);
      }
    }
    if (!fine || stride <= 1) return false;
    const Axis unknown = *as_unknown(fine->factor);
    if (!unknown.extent.is_constant() || unknown.extent.value() <= stride) return false;
    LinearForm left;
    left.terms = form.terms;
    equations_.push_back({left.index(), form.right});
    const Index high = introduce("q", (unknown.extent.value() + stride - 1) / stride);
    const Index low = introduce("r", stride);
    assign(unknown.name, high * Index(stride) + low);
    return true;
  }

  /// Of a sum, the unknown with the largest domain (the first of these) is solved.
  bool solve_sum(const Form& form) { return solve_largest(form, true); }

  /// The same with a divisibility guard.
  bool solve_strided(const Form& form) { return solve_largest(form, false); }

  bool solve_largest(const Form& form, bool unit) {
    const Term* best = nullptr;
    int64_t largest = -1;
    for (const Term& term : form.terms) {
      const Axis* unknown = as_unknown(term.factor);
      if (!unknown || (unit && std::abs(term.coefficient) != 1)) continue;
      const bool elsewhere = std::any_of(form.terms.begin(), form.terms.end(), [&](const Term& t) {
        return &t != &term && unknowns(t.factor).contains(unknown->name);
      });
      if (elsewhere) continue;
      const int64_t size = unknown->extent.is_constant() ? unknown->extent.value() : INT64_MAX;
      if (size <= largest) continue;
      largest = size;
      best = &term;
    }
    if (!best) return false;
    Index rest = form.right;
    for (const Term& term : form.terms) {
      if (&term != best) rest = rest - term.factor * Index(term.coefficient);
    }
    const int64_t coefficient = std::abs(best->coefficient);
    if (best->coefficient < 0) rest = Index(0) - rest;
    if (coefficient != 1) guards_.push_back({mod(rest, coefficient), 1, {}});
    assign(best->factor.name(), floor_div(rest, coefficient));
    return true;
  }

  /// A factor that is no iterator gets one, with an equation of its own.
  bool name_factor(const Form& form) {
    if (form.terms.size() < 2) return false;
    for (size_t i = 0; i < form.terms.size(); ++i) {
      const Index& factor = form.terms[i].factor;
      if (as_unknown(factor)) continue;
      const auto range = value_range(factor, ranges_);
      if (!range) continue;
      const Index name = introduce("q", range->end - range->begin) + Index(range->begin);
      LinearForm left;
      left.terms = form.terms;
      left.terms[i].factor = name;
      equations_.push_back({left.index(), form.right});
      equations_.push_back({factor, name});
      return true;
    }
    return false;
  }

  bool holds(const Inversion::Guard& guard) const {
    if (guard.value.kind() == Index::Kind::Iterator) {
      for (const auto* axes : {&elements_, &active_}) {
        for (const Axis& axis : *axes) {
          if (axis.name == guard.value.name() && axis.extent == guard.extent) return true;
        }
      }
    }
    const auto range = value_range(guard.value, ranges_);
    return range && guard.extent.is_constant() && range->begin >= 0 &&
           range->end <= guard.extent.value();
  }

  std::vector<Axis> active_;
  std::vector<Axis> elements_;
  std::set<std::string> taken_;
  std::set<std::string> originals_;
  std::vector<Equation> equations_;
  std::map<std::string, Index> solutions_;
  std::vector<Inversion::Guard> guards_;
  Ranges ranges_;
  Index simple_;
};

/// Where an index is a bare iterator that is solved, the element's position takes over its name.
void name_after(const std::vector<Index>& indices, Inversion& inversion) {
  std::set<std::string> taken;
  for (const Axis& axis : inversion.remaining) taken.insert(axis.name);
  std::map<std::string, Index> names;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (indices[d].kind() != Index::Kind::Iterator) continue;
    if (!taken.insert(indices[d].name()).second) continue;
    names.emplace(inversion.element[d].name, indices[d]);
    inversion.element[d].name = indices[d].name();
  }
  const auto rename = [&](Index& index) {
    index = substitute(index, [&](const Index& leaf) -> const Index* {
      const auto found = names.find(leaf.name());
      return leaf.kind() == Index::Kind::Iterator && found != names.end() ? &found->second
                                                                          : nullptr;
    });
  };
  for (auto& [iterator, solution] : inversion.solution) rename(solution);
  for (Inversion::Guard& guard : inversion.guards) rename(guard.value);
}

}  // namespace

std::optional<Inversion> invert(const std::vector<Index>& indices, const std::vector<Index>& shape,
                                const std::vector<Axis>& iterators, std::set<std::string> taken) {
  const auto take = [&](const Index& index) {
    visit(index, [&](const Index& node) {
      if (node.kind() == Index::Kind::Symbol) taken.insert(node.name());
    });
  };
  for (const Axis& axis : iterators) {
    taken.insert(axis.name);
    take(axis.extent);
  }
  for (const Index& index : indices) take(index);
  for (const Index& extent : shape) take(extent);

  Solver solver(iterators, taken);
  for (size_t d = 0; d < indices.size(); ++d) {
    const Axis axis = solver.element(shape[d]);
    solver.demand(indices[d], Index::iterator(axis.name));
  }
  if (!solver.solve()) return std::nullopt;
  Inversion result = solver.result();
  name_after(indices, result);
  return result;
}

}  // namespace opsmith::expression
