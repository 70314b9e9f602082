#include "runtime/expression/differentiation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "random_products.h"
#include "runtime/expression/interpreter.h"
#include "support/error.h"
#include "support/random.h"

namespace opsmith::expression {
namespace {

Tensor random_tensor(const Shape& shape, Random& random, double low = -1, double high = 1) {
  Tensor tensor(ElementType::Float64, shape);
  for (double& value : tensor.data<double>()) value = random.uniform(low, high);
  return tensor;
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.count(); ++i) sum += a.data<double>()[i] * b.data<double>()[i];
  return sum;
}

Tensor moved(const Tensor& base, const Tensor& direction, double step) {
  Tensor result = base.clone();
  for (int64_t i = 0; i < result.count(); ++i) {
    result.data<double>()[i] += step * direction.data<double>()[i];
  }
  return result;
}

int scatter_stages(const Program& program) {
  int count = 0;
  for (const Stage& stage : program.stages) count += stage.scatters();
  return count;
}

/// Compares the gradient by every input and weight with central differences along random
/// directions; returns the gradient program.
Program check(const std::string& text, const Binding& binding, double low = -1, double high = 1) {
  const Program program = instantiate(parse(text), binding);
  validate(program);
  std::vector<std::string> names;
  Random random(17);
  Tensors values;
  for (const auto* declarations : {&program.inputs, &program.weights}) {
    for (const auto& declaration : *declarations) {
      Shape shape;
      for (const Index& extent : declaration.shape) shape.push_back(extent.value());
      values[declaration.name] = random_tensor(shape, random, low, high);
      names.push_back(declaration.name);
    }
  }
  const Program gradient = differentiate(program, names);
  EXPECT_EQ(parse(print(gradient)), gradient);

  Tensors incoming = values;
  for (const auto& [output, z] : interpret(program, values)) {
    incoming[gradient_name(output)] = random_tensor(z.shape(), random);
  }
  const auto loss = [&](const Tensors& at) {
    double sum = 0;
    for (const auto& [output, z] : interpret(program, at)) {
      sum += dot(z, incoming[gradient_name(output)]);
    }
    return sum;
  };
  const Tensors gradients = interpret(gradient, incoming);
  for (const std::string& name : names) {
    const Tensor& found = gradients.at(gradient_name(name));
    EXPECT_EQ(found.shape(), values[name].shape());
    for (int sample = 0; sample < 3; ++sample) {
      const Tensor direction = random_tensor(values[name].shape(), random);
      constexpr double kStep = 1e-6;
      Tensors above = values, below = values;
      above[name] = moved(values[name], direction, kStep);
      below[name] = moved(values[name], direction, -kStep);
      const double expected = (loss(above) - loss(below)) / (2 * kStep);
      EXPECT_NEAR(dot(found, direction), expected, 1e-6 * (1 + std::fabs(expected)))
          << "gradient of " << name << " in\n"
          << print(program) << print(gradient);
    }
  }
  return gradient;
}

int check_scatters(const std::string& text, const Binding& binding = {}) {
  return scatter_stages(check(text, binding));
}

constexpr const char* kConvolution =
    R"(program conv(x: f64[N, C, H, W]; w1: f64[O, C/g, k, k], bias: f64[O]) -> z
  z: f64[n: N, o: O, h: (H + 2*p - d*(k - 1) - 1)/s + 1, w: (W + 2*p - d*(k - 1) - 1)/s + 1] = sum[f64](c: C/g, a: k, b: k) x[n, o/(O/g)*(C/g) + c, h*s + a*d - p, w*s + b*d - p] * w1[o, c, a, b])";

Binding convolution(int64_t g, int64_t s, int64_t d, int64_t k, int64_t p, int64_t c = 4,
                    int64_t o = 6) {
  return {{"N", 2}, {"C", c}, {"O", o}, {"H", 7}, {"W", 6},
          {"g", g}, {"s", s}, {"d", d}, {"k", k}, {"p", p}};
}

/// An average over what lies inside divides by a position, which is an integer.
TEST(Differentiation, QuotientsOfPositions) {
  check_scatters(
      "program p(x: f64[6]; ) -> y\n"
      "  y: f64[i: 6] = sum[f64](r: 3) x[i + r - 1] "
      "epilogue _ / (minimum(position(i + 2), 6) - maximum(position(i - 1), 0))");
}

TEST(Differentiation, Convolutions) {
  const std::string biased = std::string(kConvolution) + " epilogue _ + bias[o]";
  EXPECT_EQ(check_scatters(biased, convolution(1, 1, 1, 3, 1)), 0);
  EXPECT_EQ(check_scatters(biased, convolution(2, 1, 1, 3, 1)), 0);
  EXPECT_EQ(check_scatters(biased, convolution(4, 1, 1, 3, 1, 4, 4)), 0);   // depthwise
  EXPECT_EQ(check_scatters(biased, convolution(4, 1, 1, 3, 1, 4, 12)), 0);  // with multiplier
  EXPECT_EQ(check_scatters(biased, convolution(1, 2, 1, 3, 1)), 0);
  EXPECT_EQ(check_scatters(biased, convolution(2, 2, 1, 3, 1)), 0);
  EXPECT_EQ(check_scatters(biased, convolution(1, 2, 1, 2, 0)), 0);
  EXPECT_EQ(check_scatters(biased, convolution(1, 3, 1, 2, 0)), 0);
  EXPECT_EQ(check_scatters(biased, convolution(1, 2, 1, 5, 2)), 0);
  EXPECT_EQ(check_scatters(biased, convolution(1, 1, 2, 3, 2)), 0);
  EXPECT_EQ(check_scatters(biased, convolution(1, 2, 2, 3, 2)), 0);
  EXPECT_EQ(check_scatters(biased, convolution(1, 2, 3, 3, 3)), 0);
  EXPECT_EQ(check_scatters(biased, convolution(1, 1, 1, 1, 0)), 0);
}

TEST(Differentiation, EpilogueOfConvolution) {
  check(std::string(kConvolution) + " epilogue maximum(_ + bias[o], 0)",
        convolution(2, 1, 1, 3, 1));
  check(std::string(kConvolution) + " epilogue tanh(_) * bias[o] + _ / (2 + bias[o])",
        convolution(1, 1, 1, 3, 1));
}

TEST(Differentiation, SymbolicSizesStayCorrect) {
  Program program = parse(std::string(kConvolution) + " epilogue _ + bias[o]");
  const Program symbolic = differentiate(program, {"x", "w1", "bias"});
  EXPECT_FALSE(symbolic.symbols().empty());
  const Binding binding = convolution(2, 1, 1, 3, 1);
  const Program concrete = differentiate(instantiate(program, binding), {"x", "w1", "bias"});
  Random random(5);
  Tensors values;
  for (const auto* declarations : {&concrete.inputs, &concrete.weights}) {
    for (const auto& declaration : *declarations) {
      Shape shape;
      for (const Index& extent : declaration.shape) shape.push_back(extent.value());
      values[declaration.name] = random_tensor(shape, random);
    }
  }
  const Tensors a = interpret(symbolic, values, binding), b = interpret(concrete, values);
  for (const auto& [name, tensor] : b) EXPECT_LT(relative_error(a.at(name), tensor), 1e-12);
}

TEST(Differentiation, ProductsAndPatterns) {
  EXPECT_EQ(check_scatters("program f(x: f64[3, 4]; w: f64[4, 5]) -> z "
                           "z: f64[i: 3, j: 5] = sum[f64](k: 4) x[i, k] * w[k, j]"),
            0);
  EXPECT_EQ(check_scatters("program f(x: f64[2, 5, 4]; w: f64[3]) -> z "
                           "z: f64[n: 2, h: 5, v: 4] = sum[f64](a: 3) x[n, h + a - 1, v] * w[a]"),
            0);
  // Shift that wraps.
  EXPECT_EQ(check_scatters("program f(x: f64[5, 4]; w: f64[5]) -> z "
                           "z: f64[h: 5, v: 4] = x[(h + 2) mod 5, v] * w[h]"),
            0);
  // Wraps after its guard.
  EXPECT_EQ(check_scatters("program f(x: f64[5]; w: f64[3]) -> z z: f64[h: 5] = "
                           "sum[f64](a: 3) x[(within(h + a - 1, 5) + 1) mod 5] * w[a]"),
            0);
  // Pixel shuffle and its inverse.
  EXPECT_EQ(check_scatters("program f(x: f64[8, 3]; w: f64[2]) -> z "
                           "z: f64[c: 2, h: 6] = x[c*4 + h mod 2, h/2] * w[c]"),
            0);
  EXPECT_EQ(check_scatters("program f(x: f64[12]; w: f64[3]) -> z "
                           "z: f64[a: 3, b: 4] = x[a*4 + b] * w[a]"),
            0);
  // A window that wraps more than once.
  EXPECT_EQ(check_scatters("program f(x: f64[3]; w: f64[8]) -> z "
                           "z: f64[] = sum[f64](a: 8) x[a mod 3] * w[a]"),
            0);
  // A constant index, reading the same tensor twice, a scalar tensor.
  check("program f(x: f64[3, 4]; s: f64[]) -> z z: f64[i: 4] = x[1, i] * x[2, i] * x[1, i] + s[]",
        {});
  // A coordinate that two dimensions share.
  check("program f(x: f64[4, 4]; w: f64[4]) -> z z: f64[i: 4] = x[i, i] * w[i]", {});
  check("program f(x: f64[6, 4]; w: f64[4]) -> z z: f64[i: 4, j: 3] = x[i + j, i] * w[i]", {});
  // Quotient and remainder of one iterator.
  check("program f(x: f64[3, 2]; w: f64[6]) -> z z: f64[i: 6] = x[i/2, i mod 2] * w[i]", {});
  // Out of range on both sides, with a stride that does not divide.
  check(
      "program f(x: f64[7]; w: f64[4]) -> z z: f64[h: 5] = sum[f64](a: 4) x[h*3 + a*2 - 4] * w[a]",
      {});
  // No rule for a square; still right.
  check("program f(x: f64[10]; w: f64[4]) -> z z: f64[i: 4] = x[i*i] * w[i]", {});
}

TEST(Differentiation, Pooling) {
  EXPECT_EQ(check_scatters("program f(x: f64[2, 6, 6]) -> z z: f64[c: 2, h: 3, v: 3] = "
                           "sum[f64](a: 2, b: 2) x[c, h*2 + a, v*2 + b] epilogue _ / 4"),
            0);
  EXPECT_EQ(check_scatters("program f(x: f64[2, 7, 7]) -> z z: f64[c: 2, h: 4, v: 4] = max[f64]("
                           "a: 3, b: 3) x[c, h*2 + a - 1, v*2 + b - 1] fill -inf"),
            0);
  check(
      "program f(x: f64[2, 7]) -> z z: f64[c: 2, h: 4] = "
      "min[f64](a: 3) x[c, h*2 + a - 1] fill inf epilogue _ * _",
      {});
}

TEST(Differentiation, TiesGoToTheFirst) {
  const Program program = parse("program f(x: f64[4]) -> z z: f64[] = max[f64](a: 4) x[a]");
  const Tensors result = interpret(
      differentiate(program, {"x"}),
      {{"x", Tensor::of<double>({4}, {1, 3, 3, 2})}, {"gradient.z", Tensor::of<double>({}, {5})}});
  const auto data = result.at("gradient.x").data<double>();
  EXPECT_EQ(std::vector<double>(data.begin(), data.end()), (std::vector<double>{0, 5, 0, 0}));
}

TEST(Differentiation, ReluHasNoGradientAtZero) {
  const Program program = parse("program f(x: f64[3]) -> z z: f64[i: 3] = maximum(x[i], 0)");
  const Tensors result = interpret(differentiate(program, {"x"}),
                                   {{"x", Tensor::of<double>({3}, {-1, 0, 1})},
                                    {"gradient.z", Tensor::of<double>({3}, {5, 5, 5})}});
  const auto data = result.at("gradient.x").data<double>();
  EXPECT_EQ(std::vector<double>(data.begin(), data.end()), (std::vector<double>{0, 0, 5}));
}

TEST(Differentiation, StagesInSequence) {
  check(R"(program softmax(x: f64[3, 5]) -> z
    m: f64[i: 3] = max[f64](j: 5) x[i, j]
    e: f64[i: 3, j: 5] = exp(x[i, j] - m[i])
    s: f64[i: 3] = sum[f64](j: 5) e[i, j]
    z: f64[i: 3, j: 5] = e[i, j] / s[i])",
        {});
  check(R"(program norm(x: f64[3, 5]; scale: f64[5], shift: f64[5]) -> z
    mean: f64[i: 3] = sum[f64](j: 5) x[i, j] epilogue _ / 5
    variance: f64[i: 3] = sum[f64](j: 5) (x[i, j] - mean[i]) * (x[i, j] - mean[i]) epilogue _ / 5
    z: f64[i: 3, j: 5] = (x[i, j] - mean[i]) / sqrt(variance[i] + 0.01) * scale[j] + shift[j])",
        {});
  check(R"(program residual(x: f64[2, 4, 5]; w: f64[4, 4, 3], v: f64[4, 4]) -> z, y
    y: f64[n: 2, o: 4, h: 5] = sum[f64](c: 4, a: 3) x[n, c, h + a - 1] * w[o, c, a] epilogue maximum(_, 0)
    z: f64[n: 2, o: 4, h: 5] = sum[f64](c: 4) y[n, c, h] * v[o, c] epilogue tanh(_ + x[n, o, h]))",
        {});
}

TEST(Differentiation, ScatterStages) {
  check("program f(x: f64[6]; w: f64[6]) -> z z: f64[3] over (i: 6) at [i/2] = x[i] * w[i]", {});
  check(
      "program f(x: f64[6]; w: f64[6]) -> z "
      "z: f64[4] over (i: 6) at [i - 1] = x[i - 1] * w[i] fill 2",
      {});
  check(
      "program f(x: f64[2, 3]; w: f64[3]) -> z z: f64[2, 8] over (n: 2, i: 3, a: 3) at "
      "[n, i*2 + a] = x[n, i] * w[a]",
      {});
}

TEST(Differentiation, EveryFunction) {
  for (const std::string function : {"-x[i]",
                                     "exp(x[i])",
                                     "log(x[i])",
                                     "tanh(x[i])",
                                     "erf(x[i])",
                                     "sqrt(x[i])",
                                     "reciprocal(x[i])",
                                     "absolute(x[i] - 1)",
                                     "sin(x[i])",
                                     "cos(x[i])",
                                     "power(x[i], 2)",
                                     "power(x[i], 2.5)",
                                     "power(x[i], w[i])",
                                     "x[i] / w[i]",
                                     "x[i] - w[i] * x[i]",
                                     "maximum(x[i], w[i])",
                                     "minimum(x[i], w[i])",
                                     "maximum(1, x[i])",
                                     "minimum(x[i], 1)",
                                     "modulo(x[i], w[i])",
                                     "select(less(x[i], w[i]), x[i] * x[i], w[i])",
                                     "floor(x[i]) * w[i] + x[i]",
                                     "f64(x[i]) * w[i]",
                                     "x[i] / (1 + exp(-x[i]))",
                                     "0.5 * x[i] * (1 + erf(x[i] * 0.70710678))"}) {
    check("program f(x: f64[9]; w: f64[9]) -> z z: f64[i: 9] = " + function, {}, 0.5, 2);
    check(
        "program f(x: f64[9]; w: f64[9]) -> z "
        "z: f64[i: 9] = sum[f64](j: 2) x[i] * w[i] epilogue " +
            function + " + _ * _",
        {}, 0.5, 2);
  }
}

constexpr const char* kOperatorOne =
    R"(program one(x: f64[N, C, H, W]; w1: f64[O, g, k, k, O/(g*s)], w2: f64[C, k, O/(g*s)]) -> y
  y: f64[n: N, o: O, h: H, w: W] = sum[f64](q: g, a: k, b: k, r: O/(g*s), c: C/g) x[n, q*(C/g) + c, h + a - k/2, w + b - k/2] * w1[o, q, a, b, r] * w2[q*(C/g) + c, b, r])";
constexpr const char* kOperatorTwo =
    R"(program two(x: f64[N, C, H, W]; w1: f64[O, g, k, O/(g*s)], w2: f64[C, k, O/(g*s)]) -> y
  y: f64[n: N, o: O, h: H, w: W] = sum[f64](q: g, a: k, b: k, r: O/(g*s), c: C/g) x[n, q*(C/g) + c, (within(h + a - k/2, H) + 1) mod H, w + b - k/2] * w1[o, q, a, r] * w2[q*(C/g) + c, b, r])";

TEST(Differentiation, SynthesizedOperators) {
  const Binding binding = {{"N", 2}, {"C", 4}, {"O", 8}, {"H", 5},
                           {"W", 4}, {"k", 3}, {"g", 2}, {"s", 2}};
  EXPECT_EQ(check_scatters(kOperatorOne, binding), 0);
  EXPECT_EQ(check_scatters(kOperatorTwo, binding), 0);
}

TEST(Differentiation, GatherIsNoDearerThanTheForwardPass) {
  const Program program = instantiate(parse(kConvolution), convolution(2, 2, 1, 3, 1));
  const Program gradient = differentiate(program, {"x"});
  EXPECT_LE(multiply_accumulates(gradient), 2 * multiply_accumulates(program));
}

TEST(Differentiation, RefusalsAreNamed) {
  const Program product = parse("program f(x: f64[3]) -> z z: f64[] = product[f64](i: 3) x[i]");
  EXPECT_THROW(differentiate(product, {"x"}), Unsupported);
  const Program integer = parse("program f(x: i32[3]) -> z z: f32[i: 3] = x[i]");
  EXPECT_THROW(differentiate(integer, {"x"}), Unsupported);
  EXPECT_THROW(differentiate(integer, {"y"}), UserError);
}

TEST(Differentiation, UnusedTensorsHaveZeroGradient) {
  const Program program = parse("program f(x: f64[3], y: f64[2]) -> z z: f64[i: 3] = x[i]");
  const Tensors result = interpret(differentiate(program, {"y"}),
                                   {{"x", Tensor::zeros(ElementType::Float64, {3})},
                                    {"y", Tensor::zeros(ElementType::Float64, {2})},
                                    {"gradient.z", Tensor::zeros(ElementType::Float64, {3})}});
  EXPECT_EQ(result.at("gradient.y").data<double>()[1], 0);
}

TEST(Differentiation, RandomProducts) {
  testing::RandomProducts programs({.seed = 23});
  for (int round = 0; round < 300 && !HasFailure(); ++round) check(programs.next(), {});
}

}  // namespace
}  // namespace opsmith::expression
