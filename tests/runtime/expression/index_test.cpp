#include "runtime/expression/index.h"

#include <gtest/gtest.h>

#include <random>

#include "support/error.h"

namespace opsmith::expression {
namespace {

Index it(const std::string& name) { return Index::iterator(name); }
Index size(const std::string& name) { return Index::symbol(name); }

TEST(Index, DivisionAndModuloAreFloored) {
  EXPECT_EQ(floor_div(-1, 4).value(), -1);
  EXPECT_EQ(mod(-1, 4).value(), 3);
  EXPECT_EQ(floor_div(7, -2).value(), -4);
  EXPECT_EQ(mod(7, -2).value(), -1);
  EXPECT_EQ(evaluate(mod(it("i") - 5, 4), {{"i", 0}}), 3);
}

TEST(Index, EvaluationNamesItsFaults) {
  EXPECT_THROW(evaluate(size("H"), {}), UserError);
  EXPECT_THROW(evaluate(floor_div(it("i"), it("j")), {{"i", 1}, {"j", 0}}), UserError);
  EXPECT_THROW(evaluate(it("i") * INT64_MAX, {{"i", 2}}), UserError);
}

TEST(Index, WithinGuardsTheRead) {
  const Index guarded = mod(within(it("h") - 1, 4), 4) + it("c");
  EXPECT_FALSE(in_bounds(guarded, {{"h", 0}, {"c", 0}}));
  EXPECT_TRUE(in_bounds(guarded, {{"h", 1}, {"c", 0}}));
  EXPECT_EQ(evaluate(guarded, {{"h", 0}, {"c", 0}}), 3);
  EXPECT_TRUE(mod(within(it("h"), 4), 1).has_within());
}

TEST(Index, PrintsWithFewParentheses) {
  const Index channel =
      floor_div(it("o"), floor_div(size("O"), size("g"))) * floor_div(size("C"), size("g")) +
      it("c");
  EXPECT_EQ(to_string(channel), "o/(O/g)*(C/g) + c");
  EXPECT_EQ(to_string(it("a") - (it("b") - it("c")) + -3), "a - (b - c) + -3");
  EXPECT_EQ(to_string(mod(it("a") * (it("b") + 1), 3)), "(a*(b + 1)) mod 3");
}

struct Case {
  Index index;
  Ranges ranges;
  std::string simple;
};

TEST(Simplify, KnowsTheRules) {
  const Index o = it("o"), i = it("i"), x = it("x"), y = it("y"), k = size("k");
  const Ranges blocks = {{"o", {0, 8}}, {"i", {0, 16}}};
  const std::vector<Case> cases = {
      {floor_div(o * 16 + i, 16), blocks, "o"},
      {mod(o * 16 + i, 16), blocks, "i"},
      {floor_div(o * 16 + i, 32), blocks, "o/2"},
      {mod(o * 16 + i, 32), blocks, "(o mod 2)*16 + i"},
      {floor_div(floor_div(x, 3), 5), {}, "x/15"},
      {floor_div(mod(x, 12), 4), {}, "(x/4) mod 3"},
      {mod(mod(x, 12), 4), {}, "x mod 4"},
      {floor_div(x, 4) * 4 + mod(x, 4), {}, "x"},
      {mod(floor_div(x, 4), 8) * 4 + mod(x, 4), {}, "x mod 32"},
      {floor_div(x * 6 + 8, 4), {}, "x*3/2 + 2"},
      {floor_div(x, 4), {{"x", {0, 4}}}, "0"},
      {mod(x, 4), {{"x", {8, 12}}}, "x - 8"},
      {x + y - x, {}, "y"},
      {floor_div(x * k + 0, k), {}, "x"},
      {mod(x * k, k), {}, "0"},
      {within(x + 1, 9), {{"x", {0, 8}}}, "x + 1"},
      {within(x + 1, 8), {{"x", {0, 8}}}, "within(x + 1, 8)"},
      {(x + 2) * 3 - 6, {}, "x*3"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(to_string(simplify(c.index, c.ranges)), c.simple) << to_string(c.index);
  }
}

TEST(Simplify, KeepsGuardsThatCancel) {
  const Index guard = within(it("x") - 1, 4);
  EXPECT_TRUE(simplify(guard - guard).has_within());
  EXPECT_TRUE(simplify(mod(guard, 1) + guard * 0).has_within());
}

TEST(Simplify, NestedRemaindersTakeLittleTime) {
  Index deep = it("i");
  for (int depth = 0; depth < 300; ++depth) deep = mod(deep + depth, 1000 - depth) + it("j");
  const Index simple = simplify(floor_div(deep, 3), {{"i", {0, 5000}}, {"j", {0, 3}}});
  EXPECT_EQ(evaluate(simple, {{"i", 4321}, {"j", 2}}),
            evaluate(floor_div(deep, 3), {{"i", 4321}, {"j", 2}}));
}

/// A random expression whose divisors are positive.
Index random_index(std::mt19937& random, int depth, bool guards) {
  const auto pick = [&](int n) { return static_cast<int>(random() % n); };
  if (depth == 0 || pick(5) == 0) {
    if (pick(3) == 0) return pick(15) - 5;
    return it(std::string(1, static_cast<char>('a' + pick(4))));
  }
  const auto inner = [&] { return random_index(random, depth - 1, guards); };
  switch (pick(guards ? 7 : 6)) {
    case 0:
    case 1:
      return inner() + inner();
    case 2:
      return inner() - inner();
    case 3:
      return inner() * (pick(9) - 2);
    case 4:
      return floor_div(inner(), 1 + pick(12));
    case 5:
      return mod(inner(), 1 + pick(12));
    default:
      return within(inner(), 1 + pick(20));
  }
}

TEST(Simplify, KeepsTheValueOfRandomExpressions) {
  std::mt19937 random(1);
  for (int round = 0; round < 4000; ++round) {
    const Index index = random_index(random, 5, round % 2 == 0);
    Ranges ranges;
    for (const char name : {'a', 'b', 'c', 'd'}) {
      const int64_t begin = static_cast<int64_t>(random() % 7) - 3;
      ranges[std::string(1, name)] = {begin, begin + 1 + static_cast<int64_t>(random() % 17)};
    }
    const Index simple = simplify(index, ranges);
    const auto range = value_range(index, ranges);
    ASSERT_TRUE(range) << to_string(index);
    for (int sample = 0; sample < 20; ++sample) {
      Binding values;
      for (const auto& [name, r] : ranges) {
        values[name] = r.begin + static_cast<int64_t>(random() % (r.end - r.begin));
      }
      const bool inside = in_bounds(index, values);
      ASSERT_EQ(inside, in_bounds(simple, values))
          << to_string(index) << " became " << to_string(simple);
      if (!inside) continue;
      const int64_t value = evaluate(index, values);
      ASSERT_EQ(value, evaluate(simple, values))
          << to_string(index) << " became " << to_string(simple);
      ASSERT_TRUE(range->begin <= value && value < range->end) << to_string(index);
    }
  }
}

TEST(Affine, GathersCoefficients) {
  Affine affine;
  ASSERT_TRUE(as_affine((it("h") + it("a") - 1) * 2 - it("a"), affine));
  EXPECT_EQ(affine.constant, -2);
  EXPECT_EQ(affine.coefficients, (std::map<std::string, int64_t>{{"h", 2}, {"a", 1}}));
  EXPECT_FALSE(as_affine(floor_div(it("h"), 2), affine));
  EXPECT_FALSE(as_affine(it("h") + size("H"), affine));
  EXPECT_FALSE(as_affine(within(it("h"), 4) * 0, affine));
}

}  // namespace
}  // namespace opsmith::expression
