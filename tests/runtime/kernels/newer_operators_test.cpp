// Operators that are new or changed in operator sets 18 to 22, which ONNX's installed cases do not
// reach. Expected values follow from the definitions of the specification.
#include <cmath>
#include <limits>

#include "support/error.h"
#include "tests/runtime/kernels/operator_case.h"

namespace opsmith::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor bytes(const Shape& shape, const std::vector<uint8_t>& values) {
  return Tensor::of<uint8_t>(shape, values);
}

TEST(Operators18, SplitIntoAGivenNumberLeavesTheRestToTheLast) {
  const auto parts =
      run("Split", 18, {integers({1, 2, 3, 4, 5, 6, 7})}, {{"num_outputs", int64_t{3}}}, 3);
  expect_close(parts[0], integers({1, 2, 3}));
  expect_close(parts[1], integers({4, 5, 6}));
  expect_close(parts[2], integers({7}));
}

TEST(Operators18, PadOfChosenAxes) {
  const Tensor x = Tensor::of<int64_t>({2, 2}, {1, 2, 3, 4});
  const Tensor y = run("Pad", 18, {x, integers({1, 2}), Tensor::scalar(int64_t{9}), integers({-1})},
                       {{"mode", std::string("constant")}})[0];
  expect_close(y, Tensor::of<int64_t>({2, 5}, {9, 1, 2, 9, 9, 9, 3, 4, 9, 9}));
}

TEST(Operators19, PadThatWraps) {
  const Tensor y =
      run("Pad", 19, {integers({1, 2, 3}), integers({2, 4})}, {{"mode", std::string("wrap")}})[0];
  expect_close(y, integers({2, 3, 1, 2, 3, 1, 2, 3, 1}));
}

TEST(Operators18, Bitwise) {
  const Tensor a = Tensor::of<int32_t>({2}, {12, -1}), b = Tensor::of<int32_t>({2}, {10, 5});
  expect_close(run("BitwiseAnd", 18, {a, b})[0], Tensor::of<int32_t>({2}, {8, 5}));
  expect_close(run("BitwiseOr", 18, {a, b})[0], Tensor::of<int32_t>({2}, {14, -1}));
  expect_close(run("BitwiseXor", 18, {a, b})[0], Tensor::of<int32_t>({2}, {6, -6}));
  expect_close(run("BitwiseNot", 18, {a})[0], Tensor::of<int32_t>({2}, {-13, 0}));
  expect_close(run("BitwiseNot", 18, {bytes({2}, {0, 0xf0})})[0], bytes({2}, {0xff, 0x0f}));
}

TEST(Operators18, CenterCropPadCropsOneAxisAndPadsAnother) {
  const Tensor x = Tensor::of<int64_t>({1, 5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const Tensor y = run("CenterCropPad", 18, {x, integers({2, 5})}, {{"axes", Integers{1, 2}}})[0];
  expect_close(y, Tensor::of<int64_t>({1, 2, 5}, {0, 3, 4, 0, 0, 0, 5, 6, 0, 0}));
}

TEST(Operators18, Col2ImAddsWhereBlocksOverlap) {
  // Blocks of 1 x 2 with stride 1 over an image of 1 x 3: the middle lies in both.
  const Tensor columns = reals({1, 2, 2}, {1, 2, 3, 4});
  const Tensor y = run("Col2Im", 18, {columns, integers({1, 3}), integers({1, 2})})[0];
  expect_close(y, reals({1, 1, 1, 3}, {1, 5, 4}));
}

TEST(Operators18, Mish) {
  const Tensor y = run("Mish", 18, {reals({2}, {0, 1})})[0];
  expect_close(y, reals({2}, {0, 0.86509839F}));
}

TEST(Operators18, OptionalsTakeWhatIsNone) {
  const Tensor x = reals({1}, {3});
  expect_close(run("OptionalGetElement", 18, {x})[0], x);
  expect_close(run("OptionalGetElement", 18, {Tensor::optional(x)})[0], x);
  EXPECT_THROW(run("OptionalGetElement", 18, {Tensor::optional({})}), UserError);
  expect_close(run("OptionalHasElement", 18, {})[0], Tensor::scalar(false));
  expect_close(run("OptionalHasElement", 18, {x})[0], Tensor::scalar(true));
  expect_close(run("OptionalHasElement", 18, {Tensor::optional({})})[0], Tensor::scalar(false));
}

TEST(Operators18, ReductionsTakeAxesAsInput) {
  const Tensor x = reals({2, 2}, {1, 2, 3, 6});
  expect_close(run("ReduceMean", 18, {x, integers({1})}, {{"keepdims", int64_t{0}}})[0],
               reals({2}, {1.5F, 4.5F}));
  expect_close(run("ReduceMax", 18, {x})[0], reals({1, 1}, {6}));
  expect_close(run("ReduceMin", 18, {x, integers({})}, {{"noop_with_empty_axes", int64_t{1}}})[0],
               x);
  const Tensor flags = Tensor::of<bool>({2, 2}, {true, false, false, false});
  expect_close(run("ReduceMax", 20, {flags, integers({1})}, {{"keepdims", int64_t{0}}})[0],
               Tensor::of<bool>({2}, {true, false}));
  expect_close(run("ReduceMin", 20, {flags, integers({0})}, {{"keepdims", int64_t{0}}})[0],
               Tensor::of<bool>({2}, {false, false}));
}

TEST(Operators18, ScatterKeepsTheLargerOrSmaller) {
  const Tensor x = reals({3}, {1, 5, 3}), updates = reals({3}, {4, 2, 9});
  const Tensor at = integers({0, 1, 1});
  expect_close(run("ScatterElements", 18, {x, at, updates}, {{"reduction", std::string("max")}})[0],
               reals({3}, {4, 9, 3}));
  const Tensor rows = Tensor::of<int64_t>({3, 1}, {0, 1, 1});
  expect_close(run("ScatterND", 18, {x, rows, updates}, {{"reduction", std::string("min")}})[0],
               reals({3}, {1, 2, 3}));
}

// Two channels in one group: mean 2.5, variance 1.25.
TEST(Operators21, GroupNormalizationScalesGroupsBefore21AndChannelsSince) {
  const Tensor x = reals({1, 2, 2}, {1, 2, 3, 4});
  const Attributes one = {{"num_groups", int64_t{1}}, {"epsilon", 0.0F}};
  const float a = 1.5F / std::sqrt(1.25F), b = 0.5F / std::sqrt(1.25F);
  expect_close(run("GroupNormalization", 18, {x, reals({1}, {2}), reals({1}, {1})}, one)[0],
               reals({1, 2, 2}, {1 - 2 * a, 1 - 2 * b, 1 + 2 * b, 1 + 2 * a}));
  expect_close(run("GroupNormalization", 21, {x, reals({2}, {2, 3}), reals({2}, {0, 1})}, one)[0],
               reals({1, 2, 2}, {-2 * a, -2 * b, 1 + 3 * b, 1 + 3 * a}));
}

TEST(Operators18, LpPoolWithDilation) {
  const Tensor x = reals({1, 1, 3}, {3, 7, 4});
  expect_close(
      run("LpPool", 18, {x}, {{"kernel_shape", Integers{2}}, {"dilations", Integers{2}}})[0],
      reals({1, 1, 1}, {5}));
}

TEST(Operators18, ResizeOfChosenAxesKeepsTheAspectRatio) {
  const Tensor x = reals({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Attributes attributes = {{"axes", Integers{0, 1}},
                                 {"keep_aspect_ratio_policy", std::string("not_larger")},
                                 {"coordinate_transformation_mode", std::string("asymmetric")},
                                 {"nearest_mode", std::string("floor")}};
  // Wanted 1 x 4: both axes shrink by the smaller factor 1/2.
  const Tensor y = run("Resize", 18, {x, {}, {}, integers({1, 4})}, attributes)[0];
  expect_close(y, reals({1, 2}, {1, 3}));
}

TEST(Operators18, ResizeWithAntialiasingAveragesWhatItSkips) {
  const Attributes attributes = {{"mode", std::string("linear")}, {"antialias", int64_t{1}}};
  const Tensor x = reals({4}, {0, 4, 8, 12});
  // Scale 1/2: position 0.5 with a kernel of half width 2: weights 1, 3, 3, 1 over -1 to 2.
  const Tensor y = run("Resize", 18, {x, {}, reals({1}, {0.5F})}, attributes)[0];
  expect_close(y, reals({2}, {(0 * 4 + 4 * 3 + 8) / 8.0F, (4 + 3 * 8 + 4 * 12) / 8.0F}));
}

TEST(Operators19, ResizeAroundTheCentre) {
  const Attributes attributes = {
      {"coordinate_transformation_mode", std::string("half_pixel_symmetric")},
      {"mode", std::string("linear")}};
  // 3 * 0.5 = 1.5 becomes 1: the one output position reads the centre.
  const Tensor y =
      run("Resize", 19, {reals({3}, {1, 5, 3}), {}, reals({1}, {0.5F})}, attributes)[0];
  expect_close(y, reals({1}, {5}));
}

TEST(Operators19, CastTo8BitFloatsSaturatesOrNot) {
  const Tensor x = reals({6}, {1, -0.0F, 500, kInfinity, std::nanf(""), 1.06F});
  const auto cast = [&](int64_t to, int64_t saturate) {
    const Tensor y = run("Cast", 19, {x}, {{"to", to}, {"saturate", saturate}})[0];
    return std::vector<uint8_t>(y.data<uint8_t>().begin(), y.data<uint8_t>().end());
  };
  using Codes = std::vector<uint8_t>;
  EXPECT_EQ(cast(17, 1), (Codes{0x38, 0x80, 0x7e, 0x7e, 0x7f, 0x38}));  // E4M3FN
  EXPECT_EQ(cast(17, 0), (Codes{0x38, 0x80, 0x7f, 0x7f, 0x7f, 0x38}));
  EXPECT_EQ(cast(18, 1), (Codes{0x40, 0x00, 0x7f, 0x7f, 0x80, 0x40}));  // E4M3FNUZ
  EXPECT_EQ(cast(18, 0), (Codes{0x40, 0x00, 0x80, 0x80, 0x80, 0x40}));
  EXPECT_EQ(cast(19, 1), (Codes{0x3c, 0x80, 0x60, 0x7b, 0x7f, 0x3c}));  // E5M2
  EXPECT_EQ(cast(19, 0), (Codes{0x3c, 0x80, 0x60, 0x7c, 0x7f, 0x3c}));
  EXPECT_EQ(cast(20, 1), (Codes{0x40, 0x00, 0x64, 0x7f, 0x80, 0x40}));  // E5M2FNUZ
}

TEST(Operators19, EightBitFloatsRoundToEvenAndComeBack) {
  for (const auto type : {ElementType::Float8E4M3FN, ElementType::Float8E4M3FNUZ,
                          ElementType::Float8E5M2, ElementType::Float8E5M2FNUZ}) {
    Tensor codes(type, {256});
    for (size_t i = 0; i < 256; ++i) codes.data<uint8_t>()[i] = static_cast<uint8_t>(i);
    const Tensor wide = codes.cast(ElementType::Float32);
    const Tensor back = wide.cast(type, false);
    for (size_t i = 0; i < 256; ++i) {
      if (std::isnan(wide.data<float>()[i])) continue;
      EXPECT_EQ(back.data<uint8_t>()[i], i) << to_string(type);
    }
  }
}

TEST(Operators19, AveragePoolWithDilation) {
  const Tensor x = reals({1, 1, 5}, {1, 2, 3, 4, 5});
  expect_close(
      run("AveragePool", 19, {x}, {{"kernel_shape", Integers{2}}, {"dilations", Integers{3}}})[0],
      reals({1, 1, 2}, {2.5F, 3.5F}));
}

// Offsets of half a pixel down: the mean of two rows.
TEST(Operators19, DeformConvReadsBetweenPixels) {
  const Tensor x = reals({1, 1, 3, 1}, {2, 4, 8}), w = reals({1, 1, 1, 1}, {3});
  const Tensor offset = reals({1, 2, 3, 1}, {0.5F, 0.5F, 0.5F, 0, 0, 0});
  const Tensor mask = reals({1, 1, 3, 1}, {1, 1, 0.5F});
  expect_close(run("DeformConv", 19, {x, w, offset, reals({1}, {1}), mask})[0],
               reals({1, 1, 3, 1}, {10, 19, 7}));
}

TEST(Operators19, EqualOfStrings) {
  expect_close(run("Equal", 19, {strings({"a", "b"}), strings({"a", "c"})})[0],
               Tensor::of<bool>({2}, {true, false}));
}

TEST(Operators20, AffineGrid) {
  const Tensor theta = reals({1, 2, 3}, {1, 0, 0.5F, 0, 2, 0});
  const Tensor corners =
      run("AffineGrid", 20, {theta, integers({1, 1, 2, 2})}, {{"align_corners", int64_t{1}}})[0];
  expect_close(corners, reals({1, 2, 2, 2}, {-0.5F, -2, 1.5F, -2, -0.5F, 2, 1.5F, 2}));
  const Tensor centres = run("AffineGrid", 20, {theta, integers({1, 1, 2, 2})})[0];
  expect_close(centres, reals({1, 2, 2, 2}, {0, -1, 1, -1, 0, 1, 1, 1}));
}

TEST(Operators20, Gelu) {
  expect_close(run("Gelu", 20, {reals({2}, {1, -1})})[0], reals({2}, {0.8413447F, -0.1586553F}));
  expect_close(run("Gelu", 20, {reals({1}, {1})}, {{"approximate", std::string("tanh")}})[0],
               reals({1}, {0.8411920F}));
}

TEST(Operators20, TestsOfEightBitAndHalfFloats) {
  const Tensor x = reals({3}, {kInfinity, -kInfinity, std::nanf("")});
  for (const auto type : {ElementType::Float16, ElementType::BFloat16, ElementType::Float8E5M2}) {
    const Tensor narrow = x.cast(type, false);
    expect_close(run("IsNaN", 20, {narrow})[0], Tensor::of<bool>({3}, {false, false, true}));
    expect_close(run("IsInf", 20, {narrow}, {{"detect_negative", int64_t{0}}})[0],
                 Tensor::of<bool>({3}, {true, false, false}));
  }
}

TEST(Operators20, Strings) {
  expect_close(run("StringConcat", 20, {strings({"a", "b"}), strings({"x"})})[0],
               strings({"ax", "bx"}));
  expect_close(run("RegexFullMatch", 20, {strings({"abc1", "abc", "1"})},
                   {{"pattern", std::string("[a-z]+\\d?")}})[0],
               Tensor::of<bool>({3}, {true, true, false}));
  EXPECT_THROW(run("RegexFullMatch", 20, {strings({"a"})}, {{"pattern", std::string("(")}}),
               UserError);
  auto split = run("StringSplit", 20, {strings({"a,b,,c", ""})},
                   {{"delimiter", std::string(",")}, {"maxsplit", int64_t{2}}}, 2);
  expect_close(split[0], Tensor::of<std::string>({2, 3}, {"a", "b", ",c", "", "", ""}));
  expect_close(split[1], integers({3, 1}));
  split = run("StringSplit", 20, {strings({"  a  b ", ""})}, {}, 2);
  expect_close(split[0], Tensor::of<std::string>({2, 2}, {"a", "b", "", ""}));
  expect_close(split[1], integers({2, 0}));
}

TEST(Operators20, ConstantOfShapeOfHalves) {
  const Tensor value = reals({1}, {1.5F}).cast(ElementType::BFloat16);
  expect_close(run("ConstantOfShape", 20, {integers({2})}, {{"value", value}})[0],
               reals({2}, {1.5F, 1.5F}).cast(ElementType::BFloat16));
}

TEST(Operators20, GridSampleOfAVolume) {
  const Tensor x = reals({1, 1, 1, 1, 2}, {1, 3});
  const Tensor grid = reals({1, 1, 1, 2, 3}, {0, 0, 0, 1, 0, 0});
  expect_close(run("GridSample", 20, {x, grid},
                   {{"align_corners", int64_t{1}}, {"mode", std::string("linear")}})[0],
               reals({1, 1, 1, 1, 2}, {2, 3}));
}

TEST(Operators20, DftTakesItsAxisAsInput) {
  const Tensor x = reals({1, 4, 1}, {1, 2, 3, 4});
  const Tensor axis = Tensor::scalar(int64_t{1});
  const Tensor half = run("DFT", 20, {x, {}, axis}, {{"onesided", int64_t{1}}})[0];
  expect_close(half, reals({1, 3, 2}, {10, 0, -2, 2, -2, 0}));
  const Tensor back = run("DFT", 20, {half, Tensor::scalar(int64_t{4}), axis},
                          {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}})[0];
  expect_close(back, x);
  const Tensor odd = reals({1, 5, 1}, {1, 0, 2, 0, 5});
  const Tensor spectrum = run("DFT", 20, {odd, {}, axis})[0];
  expect_close(run("DFT", 20, {spectrum, {}, axis}, {{"inverse", int64_t{1}}})[0],
               reals({1, 5, 2}, {1, 0, 0, 0, 2, 0, 0, 0, 5, 0}));
}

TEST(Operators20, ImageDecoderIsRefusedByName) {
  try {
    run("ImageDecoder", 20, {bytes({3}, {1, 2, 3})});
    FAIL() << "it was run";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("ImageDecoder"), std::string::npos);
  }
}

TEST(Operators21, FourBitIntegers) {
  const Tensor x = reals({4}, {-9, 3, 7.9F, 20});
  const Tensor signed_ = run("Cast", 21, {x}, {{"to", int64_t{22}}})[0];
  expect_close(signed_.cast(ElementType::Int32), Tensor::of<int32_t>({4}, {-8, 3, 7, 7}));
  const Tensor unsigned_ = run("Cast", 21, {x}, {{"to", int64_t{21}}})[0];
  expect_close(unsigned_.cast(ElementType::Int32), Tensor::of<int32_t>({4}, {0, 3, 7, 15}));
  const Tensor wide = Tensor::of<int32_t>({2}, {200, 17});
  expect_close(run("Cast", 21, {wide}, {{"to", int64_t{22}}})[0].cast(ElementType::Int32),
               Tensor::of<int32_t>({2}, {-8, 1}));
}

TEST(Operators21, QuantizeInBlocks) {
  const Tensor x = reals({1, 4}, {2, 4, 30, 60}), scale = reals({1, 2}, {2, 10});
  const Tensor zero = Tensor::of<int8_t>({1, 2}, {1, -1});
  const Attributes blocks = {{"axis", int64_t{1}}, {"block_size", int64_t{2}}};
  const Tensor y = run("QuantizeLinear", 21, {x, scale, zero}, blocks)[0];
  expect_close(y, Tensor::of<int8_t>({1, 4}, {2, 3, 2, 5}));
  expect_close(run("DequantizeLinear", 21, {y, scale, zero}, blocks)[0], x);
}

TEST(Operators21, QuantizeTo16And4BitsAndByAxis) {
  const Tensor x = reals({2, 2}, {1, 100000, -3, 4});
  expect_close(
      run("QuantizeLinear", 21, {x, Tensor::scalar(1.0F)}, {{"output_dtype", int64_t{4}}})[0],
      Tensor::of<uint16_t>({2, 2}, {1, 65535, 0, 4}));
  const Tensor zeros = Tensor::zeros(ElementType::Int4, {2});
  expect_close(
      run("QuantizeLinear", 21, {x, reals({2}, {1, 2}), zeros}, {{"axis", int64_t{0}}})[0].cast(
          ElementType::Int32),
      Tensor::of<int32_t>({2, 2}, {1, 7, -2, 2}));
}

TEST(Operators19, DequantizeLinearFollowsItsScale) {
  const Tensor x = Tensor::of<uint8_t>({2}, {3, 5});
  const Tensor half = Tensor::scalar(0.5F).cast(ElementType::Float16);
  expect_close(run("DequantizeLinear", 19, {x, half, Tensor::scalar(uint8_t{1})})[0],
               reals({2}, {1, 2}).cast(ElementType::Float16));
  const Tensor eight = reals({2}, {1, -2}).cast(ElementType::Float8E4M3FN);
  expect_close(run("DequantizeLinear", 19, {eight, Tensor::scalar(3.0F)})[0], reals({2}, {3, -6}));
}

TEST(Operators22, BfloatIsComputedInF32AndRoundedOnce) {
  const auto bf16 = [](const Tensor& t) { return t.cast(ElementType::BFloat16); };
  const Tensor x = bf16(reals({1, 1, 4}, {1, 2, 3, 4}));
  expect_close(run("MaxPool", 22, {x}, {{"kernel_shape", Integers{2}}})[0],
               bf16(reals({1, 1, 3}, {2, 3, 4})));
  expect_close(run("Conv", 22, {x, bf16(reals({1, 1, 2}, {1, 0.5F}))})[0],
               bf16(reals({1, 1, 3}, {2, 3.5F, 5})));
  expect_close(run("Elu", 22, {bf16(reals({2}, {2, 0}))})[0], bf16(reals({2}, {2, 0})));
  expect_close(run("Acos", 22, {bf16(reals({1}, {1}))})[0], bf16(reals({1}, {0})));
}

TEST(Operators22, MaxPoolInCeilModeWithAWindowLargerThanItsInput) {
  const Tensor x = reals({1, 1, 2}, {1, 4});
  const Attributes attributes = {
      {"kernel_shape", Integers{3}}, {"strides", Integers{2}}, {"ceil_mode", int64_t{1}}};
  expect_close(run("MaxPool", 22, {x}, attributes)[0], reals({1, 1, 1}, {4}));
}

}  // namespace
}  // namespace opsmith::testing
