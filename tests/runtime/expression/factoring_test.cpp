#include "runtime/expression/factoring.h"

#include <gtest/gtest.h>

#include "random_products.h"
#include "runtime/expression/interpreter.h"
#include "support/random.h"

namespace opsmith::expression {
namespace {

Tensors random_arguments(const Program& program, uint64_t seed) {
  Random random(seed);
  Tensors values;
  for (const auto* declarations : {&program.inputs, &program.weights}) {
    for (const auto& declaration : *declarations) {
      Shape shape;
      for (const Index& extent : declaration.shape) shape.push_back(extent.value());
      Tensor tensor(ElementType::Float64, shape);
      for (double& value : tensor.data<double>()) value = random.uniform(-1, 1);
      values[declaration.name] = tensor;
    }
  }
  return values;
}

/// Factors a program, checks that its meaning stays, and returns it.
Program check(const std::string& text, const Binding& binding = {}) {
  const Program program = instantiate(parse(text), binding);
  validate(program);
  const Program factored = factor(program);
  validate(factored);
  EXPECT_LE(multiply_accumulates(factored), multiply_accumulates(program));
  const Tensors values = random_arguments(program, 3);
  const Tensors expected = interpret(program, values), found = interpret(factored, values);
  for (const auto& [name, tensor] : expected) {
    EXPECT_LT(relative_error(found.at(name), tensor), 1e-12) << print(factored);
  }
  return factored;
}

constexpr const char* kOperatorOne =
    R"(program one(x: f64[N, C, H, W]; w1: f64[O, g, k, k, O/(g*s)], w2: f64[C, k, O/(g*s)]) -> y
  y: f64[n: N, o: O, h: H, w: W] = sum[f64](q: g, a: k, b: k, r: O/(g*s), c: C/g) x[n, q*(C/g) + c, h + a - k/2, w + b - k/2] * w1[o, q, a, b, r] * w2[q*(C/g) + c, b, r])";
constexpr const char* kOperatorTwo =
    R"(program two(x: f64[N, C, H, W]; w1: f64[O, g, k, O/(g*s)], w2: f64[C, k, O/(g*s)]) -> y
  y: f64[n: N, o: O, h: H, w: W] = sum[f64](q: g, a: k, b: k, r: O/(g*s), c: C/g) x[n, q*(C/g) + c, (within(h + a - k/2, H) + 1) mod H, w + b - k/2] * w1[o, q, a, r] * w2[q*(C/g) + c, b, r])";

TEST(Factoring, OperatorTwoHasItsPublishedCost) {
  const Program layer = instantiate(
      parse(kOperatorTwo),
      {{"N", 128}, {"C", 64}, {"O", 64}, {"H", 56}, {"W", 56}, {"k", 3}, {"g", 32}, {"s", 2}});
  const Factoring factoring = factor(layer, layer.stages[0]);
  EXPECT_EQ(factoring.multiply_accumulates, 2543321088);
  ASSERT_EQ(factoring.stages.size(), 2u);
  EXPECT_EQ(multiply_accumulates(factor(layer)), 2543321088);
  EXPECT_EQ(factoring.stages.back().name, "y");
}

TEST(Factoring, SynthesizedOperatorsKeepTheirMeaning) {
  const Binding binding = {{"N", 2}, {"C", 8}, {"O", 8}, {"H", 5},
                           {"W", 4}, {"k", 3}, {"g", 2}, {"s", 2}};
  EXPECT_EQ(check(kOperatorOne, binding).stages.size(), 2u);
  EXPECT_EQ(check(kOperatorTwo, binding).stages.size(), 2u);
}

TEST(Factoring, MatrixChainTakesTheBestOrder) {
  const Program program = check(R"(program chain(a: f64[2, 30], b: f64[30, 3], c: f64[3, 40]) -> z
    z: f64[i: 2, l: 40] = sum[f64](j: 30, k: 3) a[i, j] * b[j, k] * c[k, l] epilogue _ * _)");
  EXPECT_EQ(multiply_accumulates(program), 2 * 30 * 3 + 2 * 3 * 40);
  const Program other = check(R"(program chain(a: f64[40, 3], b: f64[3, 30], c: f64[30, 2]) -> z
    z: f64[i: 40, l: 2] = sum[f64](j: 3, k: 30) a[i, j] * b[j, k] * c[k, l])");
  EXPECT_EQ(multiply_accumulates(other), 3 * 30 * 2 + 40 * 3 * 2);
}

TEST(Factoring, SumsAloneWhatNothingElseMentions) {
  // The weight is first summed over b on its own.
  const Program program = check(
      R"(program f(x: f64[6, 5]; w: f64[4, 7]) -> z
    z: f64[i: 6, o: 4] = sum[f64](a: 3, b: 7) x[within(i + a - 1, 6), o] * w[o, b])");
  EXPECT_EQ(multiply_accumulates(program), 4 * 7 + 6 * 4 * 3);
}

TEST(Factoring, SeparableWindowsBecomeTwoPasses) {
  const Program program = check(
      R"(program f(x: f64[2, 20, 21]; u: f64[5], v: f64[5]) -> z
    z: f64[c: 2, h: 20, w: 21] = sum[f64](a: 5, b: 5) x[c, h + a - 2, w + b - 2] * u[a] * v[b])");
  EXPECT_EQ(multiply_accumulates(program), 2 * 2 * 20 * 21 * 5);
  EXPECT_EQ(program.stages[0].axes.size(), 3u);
}

TEST(Factoring, OtherFillsForbidSharedAxes) {
  check(R"(program f(x: f64[2, 9, 9]; u: f64[5], v: f64[5]) -> z
    z: f64[c: 2, h: 9, w: 9] = sum[f64](a: 5, b: 5) x[c, h + a - 2, w + b - 2] * u[a] * v[b] fill 2)");
}

TEST(Factoring, FunctionsOfReadsKeepTheirIterators) {
  check(R"(program f(x: f64[9]; u: f64[5, 3], v: f64[5, 3]) -> z
    z: f64[h: 9] = sum[f64](a: 5, b: 3) exp(x[h + a - 2]) * u[a, b] * v[a, b])");
}

TEST(Factoring, LeavesTheRestAlone) {
  const char* text = R"(program f(x: f64[4, 4]; w: f64[4, 4]) -> z
    y: f64[i: 4, j: 4] = sum[f64](k: 4) x[i, k] * w[k, j]
    m: f64[i: 4] = max[f64](j: 4) y[i, j]
    z: f64[i: 4] = m[i] * m[i] * m[i])";
  EXPECT_EQ(check(text), parse(text));
}

TEST(Factoring, KeepsTheMeaningOfRandomProducts) {
  testing::RandomProducts programs(
      {.seed = 11, .least_factors = 2, .most_factors = 4, .sums = false});
  int factored = 0;
  for (int round = 0; round < 150; ++round) factored += check(programs.next()).stages.size() > 1;
  EXPECT_GT(factored, 50);
}

}  // namespace
}  // namespace opsmith::expression
