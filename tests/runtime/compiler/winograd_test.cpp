#include "runtime/schedule/variants/winograd.h"
#include "compiled.h"
#include "runtime/expression/canonical.h"

// Winograd programs of random shapes, compiled, against the interpreted convolution.

namespace opsmith::compiler::testing {
namespace {

using schedule::Layout;
using schedule::WinogradTiling;

struct Case {
  int64_t batch = 1, channels = 16, outputs = 16, height = 8, width = 8;
  int64_t top = 1, left = 1, bottom = 1, right = 1;
};

expression::Program convolution(const Case& c) {
  const auto n = [](int64_t value) { return std::to_string(value); };
  const std::string height = n(c.height + c.top + c.bottom - 2);
  const std::string width = n(c.width + c.left + c.right - 2);
  const std::string result = "[" + n(c.batch) + ", " + n(c.outputs) + ", " + height + ", " + width;
  return expression::parse("program conv(x: f32[" + n(c.batch) + ", " + n(c.channels) + ", " +
                           n(c.height) + ", " + n(c.width) + "], r: f32" + result + "]; w: f32[" +
                           n(c.outputs) + ", " + n(c.channels) + ", 3, 3], bias: f32[" +
                           n(c.outputs) + "]) -> z\n  z: f32[n: " + n(c.batch) +
                           ", o: " + n(c.outputs) + ", h: " + height + ", v: " + width +
                           "] = sum[f32](c: " + n(c.channels) + ", a: 3, b: 3) x[n, c, h + a - " +
                           n(c.top) + ", v + b - " + n(c.left) +
                           "] * w[o, c, a, b] epilogue maximum(_ + bias[o] + r[n, o, h, v], 0)\n");
}

/// Runs one kernel on tensors by name and returns its output.
Tensor run(const schedule::KernelSpecification& specification, const expression::Tensors& tensors) {
  const LoadedKernel kernel(compile(specification));
  return run_kernel(specification, kernel, tensors, 2).at(specification.program.outputs[0]);
}

void check(const Case& c, int64_t m, const std::string& target, const WinogradTiling* tiling,
           bool halo) {
  SCOPED_TRACE("F(" + std::to_string(m) + ") " + target + " " + std::to_string(c.batch) + "x" +
               std::to_string(c.channels) + "->" + std::to_string(c.outputs) + " " +
               std::to_string(c.height) + "x" + std::to_string(c.width) + " pads " +
               std::to_string(c.top) + std::to_string(c.left) + std::to_string(c.bottom) +
               std::to_string(c.right));
  // As sessions have it: axes of one iteration are not named any more.
  const expression::Program direct =
      c.left == 0 ? convolution(c) : expression::canonical_names(convolution(c));
  const auto variant = schedule::make_variant(direct, "winograd" + std::to_string(m));
  ASSERT_TRUE(variant.has_value());
  expression::validate(variant->program);
  Random random(static_cast<uint64_t>(c.height * 100 + c.width));
  expression::Tensors tensors = random_tensors(direct, random);
  const std::string output = direct.outputs[0];
  const Tensor expected = expression::interpret(direct, tensors).at(output);

  schedule::KernelSpecification specification;
  specification.program = variant->program;
  specification.target = schedule::detect_target(target, 2);
  const std::string input = direct.inputs[0].name;
  for (const std::string& tensor : {input, direct.inputs[1].name, output}) {
    specification.layouts[tensor] = Layout::channel_blocked(4, specification.target.lanes(4));
  }
  if (halo) {
    specification.layouts[input].halo = schedule::variant_reach(direct, input);
    specification.layouts[output].halo = {{}, {}, {1, 2}, {0, 1}};
  }
  const schedule::VariantSchedule chosen =
      tiling != nullptr
          ? winograd_schedule(*variant, *tiling, specification.target)
          : default_variant_schedule(*variant, specification.layouts, specification.target);
  specification.schedule = chosen.schedule;
  for (const auto& prepared : variant->prepared) {
    const schedule::KernelSpecification preparation = preparation_kernel(
        prepared.preparation, chosen.weights.at(prepared.weight), specification.target);
    specification.layouts[prepared.weight] = chosen.weights.at(prepared.weight);
    tensors[prepared.weight] = run(preparation, tensors);
  }
  const Tensor actual = run(specification, tensors);
  EXPECT_LT(relative_error(actual, expected), m == 2 ? 1e-5 : 1e-4);
}

void check_everywhere(const Case& c) {
  check(c, 2, "native", nullptr, false);
  check(c, 4, "native", nullptr, true);
  check(c, 4, "avx2", nullptr, false);
  check(c, 2, "avx2", nullptr, true);
}

TEST(Winograd, WholeTiles) { check_everywhere({1, 16, 32, 8, 8}); }
TEST(Winograd, TilesHangOver) { check_everywhere({1, 16, 16, 7, 9}); }
TEST(Winograd, RaggedChannels) { check_everywhere({1, 20, 37, 6, 5}); }
TEST(Winograd, Batch) { check_everywhere({3, 16, 16, 5, 4}); }
TEST(Winograd, SingleRow) { check_everywhere({1, 17, 16, 1, 13}); }
TEST(Winograd, SingleColumn) { check_everywhere({1, 16, 19, 13, 1}); }
TEST(Winograd, SinglePixel) { check_everywhere({2, 16, 16, 1, 1}); }
TEST(Winograd, NoPadding) { check_everywhere({1, 16, 16, 9, 7, 0, 0, 0, 0}); }
TEST(Winograd, UnevenPadding) { check_everywhere({1, 16, 16, 6, 6, 2, 0, 1, 2}); }

TEST(Winograd, RandomShapesAndTilings) {
  Random random(7);
  for (int i = 0; i < 6; ++i) {
    const Case c{random.integer(1, 2),  random.integer(16, 40), random.integer(16, 40),
                 random.integer(1, 14), random.integer(1, 14),  random.integer(0, 2),
                 random.integer(0, 2),  random.integer(0, 2),   random.integer(0, 2)};
    if (c.height + c.top + c.bottom < 3 || c.width + c.left + c.right < 3) continue;
    const WinogradTiling tiling{random.integer(1, 3), random.integer(1, 7), random.integer(1, 3),
                                random.integer(0, 1) != 0, random.integer(0, 1) != 0};
    check(c, random.integer(0, 1) != 0 ? 2 : 4, i % 3 == 0 ? "avx2" : "native", &tiling,
          random.integer(0, 1) != 0);
  }
}

TEST(Winograd, OnlyWhereItFits) {
  const auto names = [](const std::string& text) {
    return schedule::variant_names(expression::parse(text)).size();
  };
  const std::string head =
      "program p(x: f32[1, 16, 8, 8]; w: f32[16, 16, 3, 3]) -> z\n"
      "  z: f32[n: 1, o: 16, h: 8, v: 8] = sum[f32](c: 16, a: 3, b: 3) ";
  EXPECT_EQ(names(head + "x[n, c, h + a - 1, v + b - 1] * w[o, c, a, b]"), 3u);
  EXPECT_EQ(names(head + "w[o, c, a, b] * x[n, c, h + a - 1, v + b - 1]"), 3u);
  // Strides, dilation, another order of the window, wrapping, a weight in the epilogue.
  EXPECT_EQ(names(head + "x[n, c, h*2 + a - 1, v + b - 1] * w[o, c, a, b]"), 1u);
  EXPECT_EQ(names(head + "x[n, c, h + a*2 - 1, v + b - 1] * w[o, c, a, b]"), 1u);
  EXPECT_EQ(names(head + "x[n, c, h + a - 1, v + b - 1] * w[o, c, b, a]"), 1u);
  EXPECT_EQ(names(head + "x[n, c, (h + a) mod 8, v + b - 1] * w[o, c, a, b]"), 1u);
  EXPECT_EQ(
      names(head + "x[n, c, h + a - 1, v + b - 1] * w[o, c, a, b] epilogue _ + w[o, 0, 0, 0]"), 1u);
}

}  // namespace
}  // namespace opsmith::compiler::testing
