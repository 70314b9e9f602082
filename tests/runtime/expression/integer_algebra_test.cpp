#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/expression/bounds.h"
#include "runtime/expression/interpreter/index_code.h"
#include "runtime/expression/inversion.h"
#include "runtime/expression/polynomial.h"
#include "support/error.h"
#include "support/random.h"

// Bounds, compiled indices, polynomials and inverted reads against plain enumeration.

namespace opsmith::expression {
namespace {

Index it(const std::string& name) { return Index::iterator(name); }

/// Random indices over some iterators.
class RandomIndices {
 public:
  RandomIndices(uint64_t seed, std::vector<std::string> names)
      : random_(seed), names_(std::move(names)) {}

  Index next(int depth = 3) {
    if (depth == 0 || random_.integer(0, 5) == 0) {
      if (random_.integer(0, 3) == 0) return random_.integer(-4, 6);
      return it(
          names_[static_cast<size_t>(random_.integer(0, static_cast<int64_t>(names_.size()) - 1))]);
    }
    const Index left = next(depth - 1);
    switch (random_.integer(0, 6)) {
      case 0:
      case 1:
        return left + next(depth - 1);
      case 2:
        return left - next(depth - 1);
      case 3:
        return left * random_.integer(-3, 4);
      case 4:
        return floor_div(left, random_.integer(1, 4));
      case 5:
        return mod(left, random_.integer(1, 5));
      default:
        return within(left, random_.integer(1, 6));
    }
  }
  Random& random() { return random_; }

 private:
  Random random_;
  std::vector<std::string> names_;
};

/// Calls `visit` with every binding of the axes.
void for_all(const std::vector<Axis>& axes, Binding& values, const std::function<void()>& visit,
             size_t next = 0) {
  if (next == axes.size()) return visit();
  const int64_t extent = evaluate(axes[next].extent, values);
  for (int64_t i = 0; i < extent; ++i) {
    values[axes[next].name] = i;
    for_all(axes, values, visit, next + 1);
  }
  values.erase(axes[next].name);
}

TEST(Bounds, HoldEveryValueThatMatters) {
  RandomIndices indices(3, {"a", "b", "c"});
  const std::vector<Axis> axes = {{"a", 4}, {"b", 5}, {"c", 3}};
  const Ranges ranges = {{"a", {0, 4}}, {"b", {0, 5}}, {"c", {0, 3}}};
  int tight = 0, known = 0;
  for (int i = 0; i < 4000; ++i) {
    const Index index = indices.next();
    const auto found = bounds(index, ranges);
    ASSERT_TRUE(found) << to_string(index);
    int64_t low = INT64_MAX, high = INT64_MIN;
    Binding values;
    for_all(axes, values, [&] {
      if (!in_bounds(index, values)) return;
      const int64_t value = evaluate(index, values);
      low = std::min(low, value);
      high = std::max(high, value);
    });
    if (low > high) continue;  // never inside
    ASSERT_LE(found->low, low) << to_string(index);
    ASSERT_GE(found->high, high) << to_string(index);
    ++known;
    if (found->low == low && found->high == high) ++tight;
  }
  EXPECT_GT(tight, known / 2) << "bounds that are never tight say nothing";
}

TEST(Bounds, AreUnknownWithoutARange) {
  const Ranges ranges = {{"a", {-3, 5}}, {"none", {2, 2}}};
  EXPECT_FALSE(bounds(it("x"), ranges));
  EXPECT_FALSE(bounds(it("none"), ranges));
  EXPECT_FALSE(bounds(it("a") + it("x"), ranges));
  EXPECT_FALSE(bounds(floor_div(it("a"), it("a")), ranges)) << "the divisor may be 0";
  const auto remainder = bounds(mod(it("x"), 7), ranges);
  ASSERT_TRUE(remainder);
  EXPECT_EQ(remainder->low, 0);
  EXPECT_EQ(remainder->high, 6);
  const auto quotient = bounds(floor_div(it("a"), 2), ranges);
  EXPECT_EQ(quotient->low, -2);
  EXPECT_EQ(quotient->high, 2);
}

TEST(Bounds, GiveUpWhereNumbersEnd) {
  const Ranges ranges = {{"a", {INT64_MAX - 3, INT64_MAX}}, {"b", {INT64_MIN, 0}}};
  EXPECT_FALSE(bounds(it("a") + it("a"), ranges));
  EXPECT_FALSE(bounds(it("a") * Index(3), ranges));
  EXPECT_FALSE(bounds(Index(0) - it("b"), ranges));
  EXPECT_EQ(bounds(it("a") - it("a"), ranges)->high, 2);
  EXPECT_NO_THROW(bounds(within(it("a"), it("b")), ranges));
}

TEST(IndexCode, IsTheIndex) {
  RandomIndices indices(5, {"a", "b"});
  const interpreter::Slots slots = {{"a", 1}, {"b", 0}};
  for (int i = 0; i < 3000; ++i) {
    const Index index = indices.next(4);
    const interpreter::IndexCode code(index, slots);
    for (int64_t a = -3; a < 5; a += 2) {
      for (int64_t b = 0; b < 4; ++b) {
        const int64_t iterators[] = {b, a};
        const Binding values = {{"a", a}, {"b", b}};
        int64_t value = 0;
        const bool inside = code.evaluate(iterators, value);
        ASSERT_EQ(inside, in_bounds(index, values)) << to_string(index) << " " << a << " " << b;
        if (!inside) continue;
        ASSERT_EQ(value, evaluate(index, values)) << to_string(index);
      }
    }
  }
}

TEST(IndexCode, NamesItsFaults) {
  const interpreter::Slots slots = {{"a", 0}, {"b", 1}};
  EXPECT_THROW(interpreter::IndexCode(it("a") + Index::symbol("N"), slots), UserError);
  EXPECT_THROW(interpreter::IndexCode(Index::symbol("N"), slots), UserError);
  const auto evaluated = [&](const Index& index, int64_t a, int64_t b) {
    const int64_t iterators[] = {a, b};
    int64_t value = 0;
    interpreter::IndexCode(index, slots).evaluate(iterators, value);
    return value;
  };
  EXPECT_EQ(evaluated(floor_div(it("a"), it("b")), -7, 2), -4);
  EXPECT_THROW(evaluated(floor_div(it("a"), it("b")), 1, 0), UserError);
  EXPECT_THROW(evaluated(mod(it("a"), it("b")), 1, 0), UserError);
  EXPECT_THROW(evaluated(floor_div(it("a"), it("b")), INT64_MIN, -1), UserError);
  EXPECT_THROW(evaluated(it("a") * Index(3) + it("b"), INT64_MAX / 2, 0), UserError);
  EXPECT_THROW(evaluated(it("a") * it("b"), INT64_MAX, 2), UserError);
  EXPECT_THROW(evaluated(it("a") + mod(it("b"), 3), INT64_MAX, 1), UserError);
}

int64_t value_of(const Polynomial& polynomial, const Binding& values) {
  int64_t sum = 0;
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    EXPECT_NE(coefficient, 0);
    int64_t term = coefficient;
    for (const Index& atom : monomial) term *= evaluate(atom, values);
    sum += term;
  }
  return sum;
}

Polynomial random_polynomial(Random& random) {
  const std::vector<Index> atoms = {it("a"), it("b"), Index::symbol("N"), mod(it("a"), 3)};
  Polynomial result = Polynomial::constant(random.integer(-3, 3));
  for (int64_t terms = random.integer(0, 4); terms > 0; --terms) {
    Polynomial term = Polynomial::constant(random.integer(-3, 3));
    for (int64_t factors = random.integer(1, 3); factors > 0; --factors) {
      term = product(term, Polynomial::atom(atoms[static_cast<size_t>(random.integer(0, 3))]));
    }
    result.accumulate(term, random.integer(-2, 2));
  }
  return result;
}

TEST(Polynomial, ComputesLikeItsValues) {
  Random random(7);
  for (int i = 0; i < 500; ++i) {
    const Polynomial a = random_polynomial(random), b = random_polynomial(random);
    const int64_t factor = random.integer(-3, 3);
    Polynomial sum = a;
    sum.accumulate(b, factor);
    Polynomial nothing = a;
    nothing.accumulate(a, -1);
    EXPECT_TRUE(nothing.terms.empty());
    EXPECT_EQ(nothing.as_constant(), 0);
    const Polynomial both = product(a, b);
    EXPECT_EQ(product(b, a).terms, both.terms);
    for (int64_t v = -2; v < 3; ++v) {
      const Binding values = {{"a", v}, {"b", 3 - v}, {"N", 2 * v + 1}};
      EXPECT_EQ(value_of(sum, values), value_of(a, values) + factor * value_of(b, values));
      EXPECT_EQ(value_of(both, values), value_of(a, values) * value_of(b, values));
      EXPECT_EQ(evaluate(build(a), values), value_of(a, values)) << to_string(build(a));
    }
    EXPECT_EQ(a.constant_term(), value_of(a, {{"a", 0}, {"b", 0}, {"N", 0}}));
    EXPECT_EQ(a.as_constant().value_or(a.constant_term()), a.constant_term());
  }
}

TEST(Polynomial, OfExtremesOverflowsLoudly) {
  EXPECT_THROW(add(INT64_MAX, 1), UserError);
  EXPECT_THROW(multiply(INT64_MIN, -1), UserError);
  EXPECT_EQ(add(INT64_MAX, INT64_MIN), -1);
  Polynomial large = Polynomial::atom(it("a"));
  EXPECT_THROW(large.accumulate(large, INT64_MAX), UserError);
  EXPECT_THROW(product(Polynomial::constant(INT64_MAX), Polynomial::constant(2)), UserError);
  // The one number without a negative.
  Polynomial least = Polynomial::constant(INT64_MIN);
  EXPECT_EQ(build(least).value(), INT64_MIN);
  least.accumulate(Polynomial::atom(it("a")));
  EXPECT_EQ(evaluate(build(least), {{"a", 5}}), INT64_MIN + 5);
  EXPECT_EQ(build(Polynomial{}).value(), 0);
  EXPECT_EQ(build(Monomial{}).value(), 1);
}

TEST(Polynomial, PutsLargeStridesFirst) {
  Polynomial sum = Polynomial::constant(-5);
  sum.accumulate(Polynomial::atom(it("a")), 2);
  sum.accumulate(Polynomial::atom(it("b")), 16);
  sum.accumulate(Polynomial::atom(it("c")), -3);
  EXPECT_EQ(to_string(build(sum)), "b*16 + a*2 - c*3 - 5");
}

/// Every point of the space by the element that it touches, and every point that the inversion
/// gives for that element: the same ones, once each.
void expect_inverse(const std::vector<Index>& indices, const Shape& shape,
                    const std::vector<Axis>& iterators, const Inversion& inversion) {
  std::vector<std::vector<int64_t>> touched, given;
  Binding values;
  for_all(iterators, values, [&] {
    std::vector<int64_t> entry;
    for (size_t d = 0; d < indices.size(); ++d) {
      if (!in_bounds(indices[d], values)) return;
      entry.push_back(evaluate(indices[d], values));
      if (entry.back() < 0 || entry.back() >= shape[d]) return;
    }
    for (const Axis& axis : iterators) entry.push_back(values.at(axis.name));
    touched.push_back(std::move(entry));
  });
  ASSERT_EQ(inversion.element.size(), shape.size());
  ASSERT_EQ(inversion.solution.size(), iterators.size());
  std::vector<Axis> space = inversion.element;
  space.insert(space.end(), inversion.remaining.begin(), inversion.remaining.end());
  for (size_t d = 0; d < shape.size(); ++d) {
    EXPECT_TRUE(inversion.element[d].extent.is_constant(shape[d]));
  }
  values.clear();
  for_all(space, values, [&] {
    for (const Inversion::Guard& guard : inversion.guards) {
      const int64_t value = evaluate(guard.value, values);
      if (value < 0 || value >= evaluate(guard.extent, values)) return;
    }
    std::vector<int64_t> entry;
    for (const Axis& axis : inversion.element) entry.push_back(values.at(axis.name));
    for (const Axis& axis : iterators) {
      entry.push_back(evaluate(inversion.solution.at(axis.name), values));
    }
    given.push_back(std::move(entry));
  });
  std::sort(touched.begin(), touched.end());
  std::sort(given.begin(), given.end());
  EXPECT_EQ(given, touched);
}

TEST(Inversion, GivesEveryPointOfAnElementOnce) {
  RandomIndices indices(9, {"a", "b", "c"});
  int inverted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<Axis> iterators;
    for (const char* name : {"a", "b", "c"}) {
      iterators.push_back({name, indices.random().integer(1, 6)});
    }
    std::vector<Index> read;
    Shape shape;
    std::vector<Index> extents;
    for (int64_t rank = indices.random().integer(1, 2); rank > 0; --rank) {
      read.push_back(indices.next(2));
      shape.push_back(indices.random().integer(1, 7));
      extents.emplace_back(shape.back());
    }
    const auto inversion = invert(read, extents, iterators);
    if (!inversion) continue;
    ++inverted;
    expect_inverse(read, shape, iterators, *inversion);
    if (::testing::Test::HasFailure()) {
      for (const Index& index : read) ADD_FAILURE() << to_string(index);
      for (const Axis& axis : iterators) ADD_FAILURE() << axis.name << to_string(axis.extent);
      return;
    }
  }
  EXPECT_GT(inverted, 1500);
}

TEST(Inversion, KnowsTheUsualReads) {
  const std::vector<Axis> axes = {{"h", 7}, {"a", 3}, {"c", 6}};
  const Index h = it("h"), a = it("a"), c = it("c");
  const std::vector<std::pair<std::vector<Index>, Shape>> reads = {
      {{h + a - 1}, {7}},              // a window
      {{h * 2 + a}, {15}},             // with a stride
      {{floor_div(c, 2), h}, {3, 7}},  // groups
      {{mod(h + 1, 7), c}, {7, 6}},    // a shift
      {{h * 6 + c, a}, {42, 3}},       // two axes in one
      {{floor_div(h * 6 + c, 4), mod(h * 6 + c, 4)}, {11, 4}},
      {{within(h - a, 7), Index(2)}, {7, 4}},
      {{}, {}},  // a scalar
  };
  for (const auto& [read, shape] : reads) {
    std::vector<Index> extents(shape.begin(), shape.end());
    const auto inversion = invert(read, extents, axes, {"i0", "q0"});
    ASSERT_TRUE(inversion);
    expect_inverse(read, shape, axes, *inversion);
    std::set<std::string> names;
    for (const auto* made : {&inversion->element, &inversion->remaining}) {
      for (const Axis& axis : *made) {
        EXPECT_TRUE(names.insert(axis.name).second) << axis.name << " twice";
        EXPECT_NE(axis.name, "i0");
        EXPECT_NE(axis.name, "q0");
      }
    }
  }
}

}  // namespace
}  // namespace opsmith::expression
