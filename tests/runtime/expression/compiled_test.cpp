#include "../compiler/compiled.h"
#include "random_products.h"
#include "runtime/expression/differentiation.h"
#include "runtime/expression/factoring.h"

// What differentiation and factoring make is right in compiled form too.

namespace opsmith::expression {
namespace {

void expect_compiled(const Program& program) {
  schedule::KernelSpecification specification;
  specification.program = program;
  specification.target = schedule::detect_target("native");
  compiler::testing::expect_like_interpreter(specification, 1e-4, 1);
  specification.schedule =
      schedule::default_schedule(program, specification.layouts, specification.target);
  compiler::testing::expect_like_interpreter(specification, 1e-4);
}

void expect_gradients(const std::string& text) {
  const Program program = parse(text);
  std::vector<std::string> names;
  for (const auto* declarations : {&program.inputs, &program.weights}) {
    for (const auto& declaration : *declarations) names.push_back(declaration.name);
  }
  expect_compiled(differentiate(program, names));
}

TEST(CompiledGradients, GroupedStridedConvolution) {
  expect_gradients(R"(program conv(x: f32[2, 8, 9, 7]; w: f32[12, 4, 3, 3], bias: f32[12]) -> z
    z: f32[n: 2, o: 12, h: 5, v: 4] = sum[f32](c: 4, a: 3, b: 3) x[n, o/6*4 + c, h*2 + a - 1, v*2 + b - 1] * w[o, c, a, b] epilogue maximum(_ + bias[o], 0))");
}

TEST(CompiledGradients, Convolution) {
  expect_gradients(R"(program conv(x: f32[2, 16, 9, 7]; w: f32[32, 16, 3, 3]) -> z
    z: f32[n: 2, o: 32, h: 9, v: 7] = sum[f32](c: 16, a: 3, b: 3) x[n, c, h + a - 1, v + b - 1] * w[o, c, a, b])");
}

TEST(CompiledGradients, MatrixProduct) {
  expect_gradients(R"(program product(x: f32[19, 33]; w: f32[33, 18]) -> z
    z: f32[i: 19, j: 18] = sum[f32](k: 33) x[i, k] * w[k, j] epilogue tanh(_))");
}

TEST(CompiledGradients, MaximumPooling) {
  expect_gradients(R"(program pool(x: f32[3, 9, 9]) -> z
    z: f32[c: 3, h: 5, v: 5] = max[f32](a: 3, b: 3) x[c, h*2 + a - 1, v*2 + b - 1] fill -inf)");
}

TEST(CompiledGradients, Softmax) {
  expect_gradients(R"(program softmax(x: f32[3, 21]) -> z
    m: f32[i: 3] = max[f32](j: 21) x[i, j]
    e: f32[i: 3, j: 21] = exp(x[i, j] - m[i])
    s: f32[i: 3] = sum[f32](j: 21) e[i, j]
    z: f32[i: 3, j: 21] = e[i, j] / s[i])");
}

TEST(CompiledGradients, ScatterOfAnIndexWithoutInverse) {
  expect_gradients(R"(program square(x: f32[20]; w: f32[5]) -> z
    z: f32[i: 5] = x[i*i] * w[i])");
}

constexpr const char* kOperatorTwo =
    R"(program two(x: f32[2, 8, 6, 5]; w1: f32[8, 2, 3, 2], w2: f32[8, 3, 2]) -> y
    y: f32[n: 2, o: 8, h: 6, w: 5] = sum[f32](q: 2, a: 3, b: 3, r: 2, c: 4) x[n, q*4 + c, (within(h + a - 1, 6) + 1) mod 6, w + b - 1] * w1[o, q, a, r] * w2[q*4 + c, b, r])";

TEST(CompiledGradients, SynthesizedOperator) { expect_gradients(kOperatorTwo); }

TEST(CompiledFactoring, SynthesizedOperator) {
  const Program factored = factor(parse(kOperatorTwo));
  EXPECT_EQ(factored.stages.size(), 2u);
  expect_compiled(factored);
  expect_compiled(differentiate(factored, {"x", "w1", "w2"}));
}

TEST(CompiledPrograms, RandomProducts) {
  for (const char* reduction : {"sum", "max"}) {
    testing::RandomProducts programs({.seed = 29,
                                      .type = "f32",
                                      .largest_size = 40,
                                      .axes = "h: 7, v: 35",
                                      .reduction = reduction});
    for (int round = 0; round < 15; ++round) {
      const std::string text = programs.next();
      expect_compiled(instantiate(parse(text), {}));
      expect_compiled(instantiate(parse(text + " epilogue tanh(_) + position(v)"), {}));
    }
  }
}

}  // namespace
}  // namespace opsmith::expression
