#include <algorithm>

#include "compiled.h"

// Every valid program is right without any directive, and under simple ones.

namespace opsmith::compiler::testing {
namespace {

schedule::KernelSpecification specify(const std::string& text,
                                      const std::string& target = "native") {
  schedule::KernelSpecification specification;
  specification.program = expression::parse(text);
  expression::validate(specification.program);
  specification.target = schedule::detect_target(target);
  return specification;
}

void expect_right(const std::string& text, double tolerance = 1e-5) {
  for (const char* target : {"avx2", "native"}) {
    schedule::KernelSpecification specification = specify(text, target);
    expect_like_interpreter(specification, tolerance, 1);
    specification.schedule = schedule::default_schedule(
        specification.program, specification.layouts, specification.target);
    expect_like_interpreter(specification, tolerance);
  }
}

TEST(Generic, ConvolutionWithPaddingStrideDilationAndGroups) {
  expect_right((R"(
program conv(x: f32[2, 6, 7, 9]; w: f32[4, 3, 3, 3], bias: f32[4]) -> z
  z: f32[n: 2, o: 4, h: 4, v: 5] = sum[f32](c: 3, a: 3, b: 3)
    x[n, o/2*3 + c, h*2 + a - 1, v*2 + b*2 - 2] * w[o, c, a, b] epilogue maximum(_ + bias[o], 0))"));
}

TEST(Generic, MaximumPoolingFillsWithTheLowest) {
  expect_right((R"(
program pool(x: f32[1, 2, 5, 5];) -> z
  z: f32[n: 1, c: 2, h: 3, w: 3] = max[f32](a: 3, b: 3) x[n, c, h*2 + a - 1, w*2 + b - 1] fill -inf)"),
               0);
}

TEST(Generic, WithinWrapAndPosition) {
  expect_right((R"(
program shift(x: f32[5, 4];) -> z, y
  z: f32[i: 5, j: 4] = x[within(i + 1, 5) mod 5, (j - 1) mod 4] + position(i*4 + j)
  y: f32[i: 20] = x[within(i - 3, 17)/4, i mod 4] * 2)"));
}

TEST(Generic, ElementTypes) {
  for (const char* type : {"f64", "f16", "bf16", "i8", "u8", "i16", "i32", "i64"}) {
    const std::string t = type;
    expect_like_interpreter(
        specify("program types(x: " + t + "[3, 7], y: " + t + "[3, 7];) -> z, s, b\n" + "  z: " +
                t + "[i: 3, j: 7] = x[i, j] * y[i, j] - x[i, j]\n" + "  s: " + t + "[i: 3] = sum[" +
                t + "](j: 7) x[i, j]\n" + "  b: bool[i: 3, j: 7] = less(x[i, j], y[i, j])\n"),
        t == "bf16" ? 1e-2 : 1e-3);
  }
}

TEST(Generic, BoolsSelectAndMixedTypes) {
  expect_right((R"(
program mixed(m: bool[9], k: bool[9], x: f32[9], i: i64[9];) -> z, y, q
  z: f32[a: 9] = select(and(m[a], not(k[a])), x[a], i[a])
  y: i64[a: 9] = i[a] / 3 + modulo(i[a], 4) * m[a]
  q: i32[a: 9] = i32(x[a] * 10))"),
               1e-6);
}

TEST(Generic, ReductionsOfEveryKind) {
  expect_right((R"(
program reductions(x: f32[4, 33];) -> a, b, c, d
  a: f32[i: 4] = sum[f32](j: 33) x[i, j]
  b: f32[i: 4] = max[f32](j: 33) x[i, j]
  c: f32[i: 4] = min[f32](j: 33) x[i, j]
  d: f32[i: 4] = product[f32](j: 33) (x[i, j] + 1.5))"));
}

TEST(Generic, ScatterStage) {
  expect_right((R"(
program scatter(g: f32[6, 5];) -> z
  z: f32[8] over (i: 6, j: 5) at [i + j - 1] = g[i, j] * 2)"));
}

TEST(Generic, SeveralStages) {
  expect_right((R"(
program softmax(x: f32[3, 10];) -> y
  m: f32[i: 3] = max[f32](j: 10) x[i, j]
  e: f32[i: 3, j: 10] = exp(x[i, j] - m[i])
  s: f32[i: 3] = sum[f32](j: 10) e[i, j]
  y: f32[i: 3, j: 10] = e[i, j] / s[i])"));
}

TEST(Generic, ScalarsAndEmptyTensors) {
  expect_like_interpreter(
      specify("program scalar(x: f32[], y: f32[2];) -> z\n  z: f32[] = x[] * y[1]\n"));
  expect_like_interpreter(
      specify("program none(x: f32[0, 3];) -> z, s\n  z: f32[i: 0, j: 3] = x[i, j]\n"
              "  s: f32[j: 3] = sum[f32](i: 0) x[i, j] epilogue _ + 1\n"));
}

}  // namespace
}  // namespace opsmith::compiler::testing
