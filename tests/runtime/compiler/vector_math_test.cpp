#include <cmath>

#include "compiled.h"

// Accuracy of the inline elementary functions over their whole domain, for scalars and vectors.

namespace opsmith::compiler::testing {
namespace {

struct Function {
  const char* name;
  double (*exact)(double);
  double low, high;
};

/// Evaluates `expression` over x (and y) with the default schedule.
std::vector<float> evaluate(const std::string& expression, const std::vector<float>& x,
                            const std::vector<float>& y = {},
                            const std::string& target = "native") {
  const std::string n = std::to_string(x.size());
  schedule::KernelSpecification specification;
  specification.program = expression::parse("program f(x: f32[" + n + "], y: f32[" + n +
                                            "];) -> z\n  z: f32[i: " + n + "] = " + expression);
  specification.target = schedule::detect_target(target);
  specification.schedule =
      schedule::default_schedule(specification.program, {}, specification.target);
  const LoadedKernel kernel(compile(specification));
  const auto size = static_cast<int64_t>(x.size());
  const expression::Tensors results = run_kernel(
      specification, kernel,
      {{"x", Tensor::of<float>({size}, x)}, {"y", Tensor::of<float>({size}, y.empty() ? x : y)}},
      1);
  const auto data = results.at("z").data<float>();
  return {data.begin(), data.end()};
}

void expect_close(const std::string& what, float x, float actual, double exact, double tolerance) {
  if (std::isnan(exact)) {
    EXPECT_TRUE(std::isnan(actual)) << what << "(" << x << ") = " << actual;
  } else if (std::isinf(static_cast<float>(exact))) {
    EXPECT_EQ(actual, static_cast<float>(exact)) << what << "(" << x << ")";
  } else {
    // Below the smallest normal number results are flushed.
    EXPECT_LE(std::abs(actual - exact), tolerance * std::abs(exact) + 1.2e-38)
        << what << "(" << x << ") = " << actual << " instead of " << exact;
  }
}

TEST(VectorMath, UnaryFunctionsWithinOneMillionth) {
  const Function functions[] = {
      {"exp", std::exp, -110, 95},  {"log", std::log, 1e-30, 1e30}, {"tanh", std::tanh, -12, 12},
      {"erf", std::erf, -5, 5},     {"sin", std::sin, -1000, 1000}, {"cos", std::cos, -1000, 1000},
      {"sqrt", std::sqrt, 0, 1e10},
  };
  for (const char* target : {"native", "avx2"}) {
    for (const Function& f : functions) {
      std::vector<float> x;
      for (int i = 0; i <= 5000; ++i) {
        x.push_back(static_cast<float>(f.low + (f.high - f.low) * i / 5000));
        // Small arguments of both signs, where relative accuracy is hard.
        const auto small = static_cast<float>(std::exp2(-i / 50.0));
        x.push_back(f.low < 0 && i % 2 == 0 ? -small : small);
      }
      const std::vector<float> z = evaluate(std::string(f.name) + "(x[i])", x, {}, target);
      for (size_t i = 0; i < x.size(); ++i) {
        // Near their zeros sine and cosine are exact to the argument's last place only.
        expect_close(f.name, x[i], z[i], f.exact(x[i]), 1e-6);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(VectorMath, InfinitiesNaNsAndZeros) {
  const float inf = INFINITY;
  const std::vector<float> x = {0.0F,  -0.0F, inf,    -inf,   NAN,  1.0F, -1.0F, 100.0F, -200.0F,
                                88.7F, 3e38F, -3e38F, 1e-30F, 0.5F, 2.5F, -2.5F, 3.5F};
  const Function functions[] = {
      {"exp", std::exp, 0, 0},   {"log", std::log, 0, 0},         {"tanh", std::tanh, 0, 0},
      {"erf", std::erf, 0, 0},   {"sqrt", std::sqrt, 0, 0},       {"floor", std::floor, 0, 0},
      {"ceil", std::ceil, 0, 0}, {"round", std::nearbyint, 0, 0},
  };
  for (const Function& f : functions) {
    const std::vector<float> z = evaluate(std::string(f.name) + "(x[i])", x);
    for (size_t i = 0; i < x.size(); ++i) expect_close(f.name, x[i], z[i], f.exact(x[i]), 1e-6);
  }
  for (const char* name : {"sin", "cos"}) {
    const std::vector<float> z = evaluate(std::string(name) + "(x[i])", {inf, -inf, NAN});
    for (const float value : z) EXPECT_TRUE(std::isnan(value));
  }
}

TEST(VectorMath, Power) {
  std::vector<float> x;
  std::vector<float> y;
  const std::vector<float> bases = {0.0F,  1.0F,  -1.0F,    2.0F,      -2.0F, 0.3F,
                                    -0.3F, 17.5F, INFINITY, -INFINITY, NAN,   1e20F};
  const std::vector<float> exponents = {0.0F,  1.0F, -1.0F, 2.0F,     3.0F,      -3.0F, 0.5F,
                                        -0.5F, 1.7F, 20.0F, INFINITY, -INFINITY, NAN};
  for (const float base : bases) {
    for (const float exponent : exponents) {
      if (base == -1.0F && std::isinf(exponent)) continue;  // 1 in C, of no use here
      x.push_back(base);
      y.push_back(exponent);
    }
  }
  const std::vector<float> z = evaluate("power(x[i], y[i])", x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
    expect_close("power^" + std::to_string(y[i]), x[i], z[i], exact, 1e-6);
  }
}

TEST(VectorMath, MaximumAndMinimumKeepNaN) {
  const std::vector<float> x = {NAN, 1.0F, NAN, -INFINITY, 2.0F};
  const std::vector<float> y = {1.0F, NAN, NAN, 3.0F, 2.0F};
  const std::vector<float> largest = evaluate("maximum(x[i], y[i])", x, y);
  const std::vector<float> rectified = evaluate("maximum(x[i], 0)", x);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(largest[i]));
  EXPECT_EQ(largest[3], 3.0F);
  EXPECT_TRUE(std::isnan(rectified[0]));
  EXPECT_EQ(rectified[3], 0.0F);
  EXPECT_EQ(rectified[4], 2.0F);
}

}  // namespace
}  // namespace opsmith::compiler::testing
