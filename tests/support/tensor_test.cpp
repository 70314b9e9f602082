#include "support/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/error.h"
#include "support/float16.h"

namespace opsmith {
namespace {

TEST(Tensor, SharesElementsUntilCloned) {
  Tensor a = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  Tensor shared = a;
  Tensor copy = a.clone();
  a.data<float>()[0] = 9;
  EXPECT_EQ(shared.data<float>()[0], 9);
  EXPECT_EQ(copy.data<float>()[0], 1);
  EXPECT_TRUE(identical(a, shared));
  EXPECT_FALSE(identical(a, copy));
}

TEST(Tensor, IsAlignedForVectors) {
  for (int64_t n : {0, 1, 3, 1000}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(Tensor(ElementType::Int8, {n}).raw()) % 64, 0u);
  }
}

TEST(Tensor, RefusesAbsurdShapes) {
  EXPECT_THROW(Tensor(ElementType::Float32, {-1}), UserError);
  EXPECT_THROW(Tensor(ElementType::Float32, {int64_t{1} << 40, int64_t{1} << 40}), UserError);
  EXPECT_THROW(Tensor(ElementType::Float64, {int64_t{1} << 61}), UserError);
}

TEST(Tensor, RefusesTheWrongType) {
  const Tensor t = Tensor::scalar<int32_t>(1);
  EXPECT_THROW(t.data<float>(), InternalError);
  EXPECT_THROW(t.strings(), InternalError);
}

TEST(Tensor, CastsSaturateAndRound) {
  const float big = 1e20f;
  const Tensor t = Tensor::of<float>({4}, {1.9f, -1.9f, big, std::nanf("")});
  const Tensor i = t.cast(ElementType::Int32);
  EXPECT_EQ(i.data<int32_t>()[0], 1);
  EXPECT_EQ(i.data<int32_t>()[1], -1);
  EXPECT_EQ(i.data<int32_t>()[2], std::numeric_limits<int32_t>::max());
  EXPECT_EQ(i.data<int32_t>()[3], 0);
  EXPECT_EQ(t.cast(ElementType::Bool).data<uint8_t>()[0], 1);
}

TEST(Tensor, HalfSurvivesARoundTripForEveryBitPattern) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value)) continue;
    EXPECT_EQ(float_to_half(value), half) << bits;
  }
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);          // rounds up to infinity
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);          // the largest finite
  EXPECT_EQ(float_to_half(1.0f + 0x1p-11f), 0x3c00);   // tie to even
  EXPECT_EQ(float_to_bfloat(1.0f + 0x1p-8f), 0x3f80);  // tie to even
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(std::nanf("")))));
}

TEST(RelativeError, IsScaledByTheLargestReference) {
  const Tensor a = Tensor::of<float>({3}, {1, 2, 4});
  const Tensor b = Tensor::of<float>({3}, {1, 2, 5});
  EXPECT_DOUBLE_EQ(relative_error(a, b), 0.2);
  EXPECT_EQ(relative_error(a, a), 0);
}

TEST(RelativeError, SeesNansInfinitiesAndShapes) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const Tensor finite = Tensor::of<float>({2}, {1, 2});
  EXPECT_TRUE(std::isinf(relative_error(Tensor::of<float>({2}, {1, nan}), finite)));
  EXPECT_TRUE(std::isinf(relative_error(finite, Tensor::of<float>({2}, {1, nan}))));
  EXPECT_TRUE(std::isinf(relative_error(Tensor::of<float>({2}, {1, inf}), finite)));
  EXPECT_EQ(relative_error(Tensor::of<float>({2}, {inf, nan}), Tensor::of<float>({2}, {inf, nan})),
            0);
  EXPECT_TRUE(std::isinf(relative_error(finite, Tensor::of<float>({1, 2}, {1, 2}))));
}

}  // namespace
}  // namespace opsmith
