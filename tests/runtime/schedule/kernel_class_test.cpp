#include "runtime/schedule/kernel_class.h"

#include <gtest/gtest.h>

namespace opsmith::schedule {
namespace {

using expression::Program;

Program convolution(int64_t channels, int64_t width, int64_t stride) {
  const std::string c = std::to_string(channels), w = std::to_string(width);
  return expression::instantiate(
      expression::parse("program conv(x: f32[N, C, W]; w1: f32[O, C, k]) -> z\n"
                        "  z: f32[n: N, o: O, w: W/s] = sum[f32](c: C, a: k) "
                        "x[n, c, w*s + a - 1] * w1[o, c, a] fill 0\n"),
      {{"N", 1}, {"C", channels}, {"O", 32}, {"W", width}, {"k", 3}, {"s", stride}});
}

TEST(KernelClass, ForgetsNumbersAndKeepsStructure) {
  const Target target = detect_target();
  const KernelKey a = kernel_key(convolution(16, 28, 2), {}, target);
  const KernelKey b = kernel_key(convolution(64, 56, 2), {}, target);
  EXPECT_EQ(a.kernel_class, b.kernel_class);
  EXPECT_NE(a.parameters, b.parameters);
  EXPECT_EQ(a.layouts, b.layouts);
  Program other = convolution(16, 28, 2);
  other.stages[0].epilogue =
      maximum(expression::Scalar::reduced(), expression::Scalar::constant(0));
  EXPECT_NE(kernel_key(other, {}, target).kernel_class, a.kernel_class);
}

TEST(KernelClass, LayoutsBelongToTheKey) {
  const Target target = detect_target();
  const Program program = convolution(16, 28, 1);
  const KernelKey plain = kernel_key(program, {}, target);
  const KernelKey blocked = kernel_key(program, {{"x", Layout::channel_blocked(3, 16)}}, target);
  EXPECT_EQ(plain.kernel_class, blocked.kernel_class);
  EXPECT_NE(plain.layouts, blocked.layouts);
}

}  // namespace
}  // namespace opsmith::schedule
