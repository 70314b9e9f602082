#include "compiled.h"

// Convolutions of random shapes under the default schedule, against the interpreter.

namespace opsmith::compiler::testing {
namespace {

struct Case {
  int64_t batch = 1, channels = 3, outputs = 4, height = 7, width = 9, kernel = 3, stride = 1,
          dilation = 1, groups = 1, top = 1, left = 1, bottom = 1, right = 1;
};

std::string text_of(const Case& c) {
  const auto n = [](int64_t value) { return std::to_string(value); };
  const int64_t reach = (c.kernel - 1) * c.dilation + 1;
  const int64_t height = (c.height + c.top + c.bottom - reach) / c.stride + 1;
  const int64_t width = (c.width + c.left + c.right - reach) / c.stride + 1;
  const std::string per_group = n(c.channels / c.groups);
  return "program conv(x: f32[" + n(c.batch) + ", " + n(c.channels) + ", " + n(c.height) + ", " +
         n(c.width) + "], r: f32[" + n(c.batch) + ", " + n(c.outputs) + ", " + n(height) + ", " +
         n(width) + "]; w: f32[" + n(c.outputs) + ", " + per_group + ", " + n(c.kernel) + ", " +
         n(c.kernel) + "], bias: f32[" + n(c.outputs) + "]) -> z\n  z: f32[n: " + n(c.batch) +
         ", o: " + n(c.outputs) + ", h: " + n(height) + ", v: " + n(width) +
         "] = sum[f32](c: " + per_group + ", a: " + n(c.kernel) + ", b: " + n(c.kernel) +
         ") x[n, o/" + n(c.outputs / c.groups) + "*" + per_group + " + c, h*" + n(c.stride) +
         " + a*" + n(c.dilation) + " - " + n(c.top) + ", v*" + n(c.stride) + " + b*" +
         n(c.dilation) + " - " + n(c.left) +
         "] * w[o, c, a, b] epilogue maximum(_ + bias[o] + r[n, o, h, v], 0)\n";
}

void check(const Case& c, const std::string& target, bool blocked, bool halo, uint64_t seed) {
  schedule::KernelSpecification specification;
  specification.program = expression::parse(text_of(c));
  specification.target = schedule::detect_target(target, 2);
  auto& layouts = specification.layouts;
  const int64_t block = specification.target.lanes(4);
  for (const char* tensor : {"x", "r", "z"}) {
    layouts[tensor] =
        blocked ? schedule::Layout::channel_blocked(4, block) : schedule::Layout::row_major(4);
  }
  if (halo) {
    layouts["x"].halo = {{}, {}, {c.top, c.bottom}, {c.left, c.right}};
    layouts["z"].halo = {{}, {}, {1, 2}, {0, 1}};
  }
  for (const auto& [name, layout] :
       schedule::preferred_weight_layouts(specification.program, layouts, specification.target)) {
    layouts[name] = layout;
  }
  specification.schedule =
      schedule::default_schedule(specification.program, layouts, specification.target);
  SCOPED_TRACE("target " + target + (blocked ? " blocked" : "") + (halo ? " halo" : ""));
  expect_like_interpreter(specification, 1e-5, 2, seed);
}

void check_everywhere(const Case& c, uint64_t seed = 1) {
  for (const char* target : {"native", "avx2"}) {
    for (const bool blocked : {false, true}) {
      for (const bool halo : {false, true}) check(c, target, blocked, halo, seed);
    }
  }
}

TEST(Convolution, Plain) { check_everywhere({2, 3, 20, 9, 17}); }
TEST(Convolution, ManyChannels) { check_everywhere({1, 40, 72, 6, 15}); }
TEST(Convolution, Pointwise) { check_everywhere({1, 33, 48, 5, 7, 1, 1, 1, 1, 0, 0, 0, 0}); }
TEST(Convolution, PointwiseStride) { check_everywhere({2, 16, 32, 6, 8, 1, 2, 1, 1, 0, 0, 0, 0}); }
TEST(Convolution, Stem) { check_everywhere({1, 3, 16, 23, 29, 7, 2, 1, 1, 3, 3, 3, 3}); }
TEST(Convolution, Depthwise) { check_everywhere({1, 32, 32, 8, 13, 3, 1, 1, 32}); }
TEST(Convolution, DepthwiseOddChannelsStride) {
  check_everywhere({1, 21, 21, 9, 14, 5, 2, 1, 21, 2, 1, 2, 2});
}
TEST(Convolution, GroupsSmallerThanABlock) { check_everywhere({1, 24, 16, 6, 6, 3, 1, 1, 4}); }
TEST(Convolution, GroupsOfBlocks) { check_everywhere({1, 32, 64, 6, 9, 3, 1, 1, 2}); }
TEST(Convolution, DilationAndAsymmetricPadding) {
  check_everywhere({1, 8, 17, 11, 10, 3, 1, 2, 1, 0, 3, 4, 1});
}
TEST(Convolution, OneByOneImage) { check_everywhere({3, 16, 10, 1, 1, 3}); }
TEST(Convolution, OneChannelOneOutput) { check_everywhere({1, 1, 1, 5, 40}); }

TEST(Convolution, RandomShapes) {
  Random random(7);
  for (int i = 0; i < 12; ++i) {
    Case c;
    c.groups = random.integer(0, 2) == 0 ? random.integer(1, 4) : 1;
    c.batch = random.integer(1, 2);
    c.channels = c.groups * random.integer(1, 20);
    c.outputs = c.groups * random.integer(1, 24);
    c.kernel = random.integer(1, 4);
    c.stride = random.integer(1, 2);
    c.dilation = random.integer(1, 2);
    c.height = random.integer(1, 12) + c.kernel * c.dilation;
    c.width = random.integer(1, 20) + c.kernel * c.dilation;
    c.top = random.integer(0, 2);
    c.left = random.integer(0, 2);
    c.bottom = random.integer(0, 2);
    c.right = random.integer(0, 2);
    check(c, i % 2 == 0 ? "native" : "avx2", random.integer(0, 1) == 1, random.integer(0, 1) == 1,
          static_cast<uint64_t>(i));
  }
}

}  // namespace
}  // namespace opsmith::compiler::testing
