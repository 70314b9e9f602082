#include "compiled.h"

// Operators other than convolutions under the default schedule and packed weights, in row-major
// and blocked layouts, on shapes that no vector divides.

namespace opsmith::compiler::testing {
namespace {

/// `blocked`: tensors whose dimension 1 is blocked by a vector.
void check(const std::string& text, const std::vector<std::string>& blocked = {},
           double tolerance = 1e-5) {
  for (const char* target : {"native", "avx2"}) {
    for (const bool use_blocks : {false, true}) {
      if (use_blocks && blocked.empty()) continue;
      schedule::KernelSpecification specification;
      specification.program = expression::parse(text);
      expression::validate(specification.program);
      specification.target = schedule::detect_target(target, 2);
      if (use_blocks) {
        for (const std::string& tensor : blocked) {
          specification.layouts[tensor] = schedule::Layout::channel_blocked(
              specification.program.shape_of(tensor).size(), specification.target.lanes(4));
        }
      }
      for (const auto& [name, layout] : schedule::preferred_weight_layouts(
               specification.program, specification.layouts, specification.target)) {
        specification.layouts.emplace(name, layout);
      }
      specification.schedule = schedule::default_schedule(
          specification.program, specification.layouts, specification.target);
      SCOPED_TRACE(std::string(target) + (use_blocks ? " blocked" : " row-major"));
      expect_like_interpreter(specification, tolerance);
    }
  }
}

TEST(Operator, ElementwiseWithBroadcasts) {
  check(R"(
program add(x: f32[2, 37, 5, 7], y: f32[2, 37, 5, 7]; s: f32[37], t: f32[7]) -> z
  z: f32[n: 2, c: 37, h: 5, w: 7] = maximum(x[n, c, h, w] * s[c] + y[n, c, h, w] - t[w], 0))",
        {"x", "y", "z"});
}

TEST(Operator, LongElementwiseIsSplitIntoTasks) {
  check(
      "program relu(x: f32[3, 64, 41, 43];) -> z\n"
      "  z: f32[n: 3, c: 64, h: 41, w: 43] = maximum(x[n, c, h, w], 0)\n",
      {"x", "z"}, 0);
}

TEST(Operator, BetweenLayouts) {
  check(
      "program copy(x: f32[2, 21, 6, 5];) -> z\n"
      "  z: f32[n: 2, c: 21, h: 6, w: 5] = x[n, c, h, w]\n",
      {"x"}, 0);
  check(
      "program copy(x: f32[2, 21, 6, 5];) -> z\n"
      "  z: f32[n: 2, c: 21, h: 6, w: 5] = x[n, c, h, w]\n",
      {"z"}, 0);
}

TEST(Operator, Pooling) {
  check(
      "program pool(x: f32[1, 40, 13, 18];) -> z\n"
      "  z: f32[n: 1, c: 40, h: 7, w: 9] = max[f32](a: 3, b: 3) x[n, c, h*2 + a - 1, w*2 + b - 1]"
      " fill -inf\n",
      {"x", "z"}, 0);
  check(
      "program pool(x: f32[2, 20, 12, 18];) -> z\n"
      "  z: f32[n: 2, c: 20, h: 6, w: 9] = sum[f32](a: 2, b: 2) x[n, c, h*2 + a, w*2 + b]"
      " epilogue _ / 4\n",
      {"x", "z"});
  check(
      "program mean(x: f32[2, 37, 7, 7];) -> z\n"
      "  z: f32[n: 2, c: 37] = sum[f32](h: 7, w: 7) x[n, c, h, w] epilogue _ / 49\n",
      {"x"});
}

TEST(Operator, MatrixProducts) {
  check(
      "program mm(x: f32[29, 70]; w: f32[70, 101], b: f32[101]) -> z\n"
      "  z: f32[m: 29, n: 101] = sum[f32](k: 70) x[m, k] * w[k, n] epilogue _ + b[n]\n");
  check(
      "program mmt(x: f32[5, 70]; w: f32[101, 70]) -> z\n"
      "  z: f32[m: 5, n: 101] = sum[f32](k: 70) x[m, k] * w[n, k]\n");
  check(
      "program mv(x: f32[1, 333]; w: f32[130, 333]) -> z\n"
      "  z: f32[m: 1, n: 130] = sum[f32](k: 333) x[m, k] * w[n, k]\n");
  check(
      "program bmm(x: f32[3, 17, 33], y: f32[3, 33, 19];) -> z\n"
      "  z: f32[b: 3, m: 17, n: 19] = sum[f32](k: 33) x[b, m, k] * y[b, k, n]\n");
  check(
      "program bmmt(x: f32[3, 17, 35], y: f32[3, 19, 35];) -> z\n"
      "  z: f32[b: 3, m: 17, n: 19] = sum[f32](k: 35) x[b, m, k] * y[b, n, k]\n");
}

TEST(Operator, FullyConnectedFromAnImage) {
  check(
      "program fc(x: f32[2, 10, 3, 5]; w: f32[50, 10, 3, 5]) -> z\n"
      "  z: f32[n: 2, o: 50] = sum[f32](c: 10, h: 3, v: 5) x[n, c, h, v] * w[o, c, h, v]\n",
      {"x"});
}

TEST(Operator, SoftmaxAndLayerNormalisation) {
  check(R"(
program softmax(x: f32[9, 61];) -> y
  m: f32[i: 9] = max[f32](j: 61) x[i, j]
  s: f32[i: 9] = sum[f32](j: 61) exp(x[i, j] - m[i])
  y: f32[i: 9, j: 61] = exp(x[i, j] - m[i]) / s[i])");
  check(R"(
program norm(x: f32[9, 133]; g: f32[133], b: f32[133]) -> y
  m: f32[i: 9] = sum[f32](j: 133) x[i, j] epilogue _ / 133
  v: f32[i: 9] = sum[f32](j: 133) (x[i, j] - m[i]) * (x[i, j] - m[i]) epilogue reciprocal(sqrt(_ / 133 + 0.00001))
  y: f32[i: 9, j: 133] = (x[i, j] - m[i]) * v[i] * g[j] + b[j])");
}

TEST(Operator, StridedAndReversedReads) {
  // Reads that end with the last element of a tensor: shuffles must not read past it.
  check("program strided(x: f32[4, 95];) -> z\n  z: f32[i: 4, j: 32] = x[i, j*3 + 1]\n", {}, 0);
  check("program even(x: f32[95];) -> z\n  z: f32[j: 48] = x[j*2]\n", {}, 0);
  check("program reversed(x: f32[3, 47];) -> z\n  z: f32[i: 3, j: 47] = x[i, 46 - j]\n", {}, 0);
  check("program transposed(x: f32[19, 23];) -> z\n  z: f32[i: 23, j: 19] = x[j, i]\n", {}, 0);
  check(
      "program shuffle(x: f32[2, 12, 3, 5];) -> z\n"
      "  z: f32[n: 2, c: 3, h: 6, w: 10] = x[n, c*4 + (h mod 2)*2 + w mod 2, h/2, w/2]\n",
      {"x"}, 0);
}

TEST(Operator, TransposedConvolutionByDivision) {
  check(R"(
program upconv(x: f32[1, 6, 5, 7]; w: f32[6, 9, 4, 4]) -> z
  z: f32[n: 1, o: 9, h: 10, v: 14] = sum[f32](c: 6, a: 4, b: 4)
    select(equal(position((h + a + 1) mod 2) + position((v + b + 1) mod 2), 0), x[n, c, (h + a - 1)/2, (v + b - 1)/2], 0) * w[c, o, a, b])",
        {"x", "z"});
}

TEST(Operator, GroupedThenPointwiseInOneProgram) {
  check(R"(
program grouped(x: f32[1, 24, 6, 9]; w1: f32[24, 6, 3, 3], w2: f32[20, 24]) -> z
  y: f32[n: 1, o: 24, h: 6, v: 9] = sum[f32](c: 6, a: 3, b: 3) x[n, o/6*6 + c, h + a - 1, v + b - 1] * w1[o, c, a, b]
  z: f32[n: 1, o: 20, h: 6, v: 9] = sum[f32](c: 24) y[n, c, h, v] * w2[o, c] epilogue maximum(_, 0))",
        {"x", "z"});
}

}  // namespace
}  // namespace opsmith::compiler::testing
