#include "runtime/expression/interpreter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/error.h"
#include "support/random.h"

namespace opsmith::expression {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> floats(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

/// The output z of a program over one-dimensional x.
std::vector<float> run(const std::string& stages, const std::vector<float>& x,
                       const Binding& binding = {}) {
  const Program program = parse("program f(x: f32[N]) -> z\n" + stages);
  const Tensor input = Tensor::of<float>({static_cast<int64_t>(x.size())}, x);
  return floats(interpret(program, {{"x", input}}, binding).at("z"));
}

using Floats = std::vector<float>;

TEST(Interpreter, PaddedReadsAreTheFill) {
  EXPECT_EQ(run("z: f32[i: N] = x[i - 1]", {1, 2, 3}), (Floats{0, 1, 2}));
  EXPECT_EQ(run("z: f32[i: N] = x[i + 1] fill 9", {1, 2, 3}), (Floats{2, 3, 9}));
  EXPECT_EQ(run("z: f32[i: N] = max[f32](a: 3) x[i + a - 1] fill -inf", {-1, -2, -3}),
            (Floats{-1, -1, -2}));
}

TEST(Interpreter, WrappingAndGuardingDiffer) {
  EXPECT_EQ(run("z: f32[i: N] = x[(i - 1) mod N]", {1, 2, 3}), (Floats{3, 1, 2}));
  EXPECT_EQ(run("z: f32[i: N] = x[within(i - 1, N) mod N]", {1, 2, 3}), (Floats{0, 1, 2}));
  EXPECT_EQ(run("z: f32[i: N] = x[(i - 1)/2]", {1, 2, 3, 4}), (Floats{0, 1, 1, 2}));
  EXPECT_EQ(run("z: f32[i: 3] = x[within(i - 1, 2)/2]", {1, 2, 3}), (Floats{0, 1, 1}));
}

TEST(Interpreter, ReducesEveryWay) {
  const Floats x = {3, -1, 2};
  EXPECT_EQ(run("z: f32[] = sum[f32](i: N) x[i]", x), Floats{4});
  EXPECT_EQ(run("z: f32[] = max[f32](i: N) x[i]", x), Floats{3});
  EXPECT_EQ(run("z: f32[] = min[f32](i: N) x[i]", x), Floats{-1});
  EXPECT_EQ(run("z: f32[] = product[f32](i: N) x[i]", x), Floats{-6});
  EXPECT_EQ(run("z: f32[] = sum[f32](i: N, j: 0) x[i]", x), Floats{0});
  EXPECT_EQ(run("z: f32[] = product[f32](j: 0) x[j]", x), Floats{1});
  EXPECT_EQ(run("z: f32[] = max[f32](j: 0) x[j]", x), Floats{-kInfinity});
}

TEST(Interpreter, NotANumberWins) {
  for (const char* stage : {"z: f32[] = max[f32](i: N) x[i]", "z: f32[] = min[f32](i: N) x[i]",
                            "z: f32[] = maximum(x[0], x[1])", "z: f32[] = minimum(x[1], x[0])"}) {
    EXPECT_TRUE(std::isnan(run(stage, {NAN, 1})[0])) << stage;
    EXPECT_TRUE(std::isnan(run(stage, {1, NAN})[0])) << stage;
  }
}

TEST(Interpreter, EpilogueSeesTheReducedValue) {
  EXPECT_EQ(run("z: f32[i: N] = sum[f32](j: N) x[j] epilogue maximum(_ + x[i], 3)", {1, -4, 2}),
            (Floats{3, 3, 3}));
  EXPECT_EQ(run("z: f32[i: N] = x[i] epilogue _ * _", {1, -4, 2}), (Floats{1, 16, 4}));
}

TEST(Interpreter, SoftmaxInStages) {
  const Floats result = run(R"(m: f32[] = max[f32](i: N) x[i]
    e: f32[i: N] = exp(x[i] - m[])
    s: f32[] = sum[f32](i: N) e[i]
    z: f32[i: N] = e[i] / s[])",
                            {1, 2, 3});
  EXPECT_NEAR(result[0], 0.09003057, 1e-6);
  EXPECT_NEAR(result[2], 0.66524096, 1e-6);
}

TEST(Interpreter, ScattersAddAndDropWhatIsOutside) {
  EXPECT_EQ(run("z: f32[3] over (i: N) at [i/2] = x[i]", {1, 2, 3, 4}), (Floats{3, 7, 0}));
  EXPECT_EQ(run("z: f32[3] over (i: N) at [i - 1] = x[i]", {1, 2, 3, 4}), (Floats{2, 3, 4}));
  EXPECT_EQ(run("z: f32[2] over (i: N) at [within(i, 3) mod 2] = x[i]", {1, 2, 3, 4}),
            (Floats{4, 2}));
}

TEST(Interpreter, EveryFunction) {
  const auto value = [](const std::string& scalar, float x, float y = 0) {
    return run("z: f32[] = " + scalar, {x, y})[0];
  };
  EXPECT_EQ(value("-x[0]", 2), -2);
  EXPECT_EQ(value("absolute(x[0])", -2), 2);
  EXPECT_FLOAT_EQ(value("exp(x[0])", 2), std::exp(2.0f));
  EXPECT_FLOAT_EQ(value("log(x[0])", 2), std::log(2.0f));
  EXPECT_FLOAT_EQ(value("tanh(x[0])", 2), std::tanh(2.0f));
  EXPECT_FLOAT_EQ(value("erf(x[0])", 0.5), std::erf(0.5f));
  EXPECT_EQ(value("sqrt(x[0])", 9), 3);
  EXPECT_EQ(value("reciprocal(x[0])", 4), 0.25f);
  EXPECT_EQ(value("floor(x[0])", -1.5), -2);
  EXPECT_EQ(value("ceil(x[0])", -1.5), -1);
  EXPECT_EQ(value("round(x[0])", 2.5), 2);
  EXPECT_EQ(value("round(x[0])", 3.5), 4);
  EXPECT_FLOAT_EQ(value("sin(x[0])", 2), std::sin(2.0f));
  EXPECT_FLOAT_EQ(value("cos(x[0])", 2), std::cos(2.0f));
  EXPECT_EQ(value("sign(x[0])", -7), -1);
  EXPECT_EQ(value("not(x[0])", 0), 1);
  EXPECT_EQ(value("x[0] - x[1]", 3, 5), -2);
  EXPECT_EQ(value("x[0] / x[1]", 3, 5), 0.6f);
  EXPECT_EQ(value("minimum(x[0], x[1])", 3, 5), 3);
  EXPECT_EQ(value("power(x[0], x[1])", 3, 2), 9);
  EXPECT_EQ(value("modulo(x[0], x[1])", -3, 2), 1);
  EXPECT_EQ(value("less(x[0], x[1])", 3, 3), 0);
  EXPECT_EQ(value("less_equal(x[0], x[1])", 3, 3), 1);
  EXPECT_EQ(value("equal(x[0], x[1])", 3, 3), 1);
  EXPECT_EQ(value("and(x[0], x[1])", 3, 0), 0);
  EXPECT_EQ(value("or(x[0], x[1])", 3, 0), 1);
  EXPECT_EQ(value("select(less(x[0], 0), x[0], x[1])", 3, 5), 5);
  EXPECT_EQ(value("position(7/2) + x[0]", 3), 6);
  EXPECT_EQ(value("i32(x[0])", 3.9f), 3);
  EXPECT_EQ(value("f32(bf16(x[0]))", 1.00390625f), 1.0f);
  EXPECT_EQ(value("1 / 4 + x[0]", 0), 0.25f);
}

TEST(Interpreter, IntegersWrap) {
  const Program program = parse(R"(program f(x: i8[N], y: u64[1]) -> a, b, c, d, e
    a: i8[i: N] = x[i] * x[i]
    b: i32[i: N] = i32(x[i]) * i32(x[i])
    c: i8[] = sum[i8](i: N) x[i]
    d: i64[i: N] = i64(x[i]) / -3 + modulo(i64(x[i]), 5)
    e: u64[] = y[0] / 2)");
  const auto result = interpret(program, {{"x", Tensor::of<int8_t>({2}, {100, -100})},
                                          {"y", Tensor::of<uint64_t>({1}, {UINT64_MAX})}});
  EXPECT_EQ(result.at("a").data<int8_t>()[0], 16);
  EXPECT_EQ(result.at("b").data<int32_t>()[1], 10000);
  EXPECT_EQ(result.at("c").data<int8_t>()[0], 0);
  EXPECT_EQ(result.at("d").data<int64_t>()[0], -33);
  EXPECT_EQ(result.at("d").data<int64_t>()[1], 33);
  EXPECT_EQ(result.at("e").data<uint64_t>()[0], UINT64_MAX / 2);
}

TEST(Interpreter, HalfPrecisionRoundsWhenStored) {
  const Program program = parse(R"(program f(x: f32[1]) -> h, b, z
    h: f16[i: 1] = x[i]
    b: bf16[i: 1] = x[i]
    z: f32[i: 1] = h[i] + b[i])");
  const auto result = interpret(program, {{"x", Tensor::of<float>({1}, {1.0f / 3})}});
  EXPECT_FLOAT_EQ(result.at("z").data<float>()[0], 0.33325195f + 0.33398438f);
}

TEST(Interpreter, ConvolutionAgreesWithLoops) {
  const Program program = parse(
      R"(program conv(x: f32[N, C, H, W]; w: f32[O, C/g, k, k], bias: f32[O]) -> z
  z: f32[n: N, o: O, h: (H - 1)/s + 1, v: (W - 1)/s + 1] = sum[f32](c: C/g, a: k, b: k) x[n, o/(O/g)*(C/g) + c, h*s + a - k/2, v*s + b - k/2] * w[o, c, a, b] epilogue maximum(_ + bias[o], 0)
)");
  const int64_t n = 2, c = 6, h = 7, w = 5, o = 4, k = 3, g = 2, s = 2;
  Random random(1);
  const auto fill = [&](Shape shape) {
    Tensor tensor(ElementType::Float32, std::move(shape));
    for (float& value : tensor.data<float>()) value = static_cast<float>(random.normal());
    return tensor;
  };
  const Tensor x = fill({n, c, h, w}), weight = fill({o, c / g, k, k}), bias = fill({o});
  const Tensor z =
      interpret(program, {{"x", x}, {"w", weight}, {"bias", bias}}, {{"g", g}, {"s", s}}).at("z");
  ASSERT_EQ(z.shape(), (Shape{2, 4, 4, 3}));
  int64_t at = 0;
  for (int64_t in = 0; in < n; ++in)
    for (int64_t io = 0; io < o; ++io)
      for (int64_t ih = 0; ih < 4; ++ih)
        for (int64_t iw = 0; iw < 3; ++iw) {
          double sum = bias.data<float>()[io];
          for (int64_t ic = 0; ic < c / g; ++ic)
            for (int64_t ia = 0; ia < k; ++ia)
              for (int64_t ib = 0; ib < k; ++ib) {
                const int64_t y = ih * s + ia - 1, v = iw * s + ib - 1;
                if (y < 0 || y >= h || v < 0 || v >= w) continue;
                const int64_t channel = io / (o / g) * (c / g) + ic;
                sum += double{x.data<float>()[((in * c + channel) * h + y) * w + v]} *
                       weight.data<float>()[((io * (c / g) + ic) * k + ia) * k + ib];
              }
          EXPECT_NEAR(z.data<float>()[at++], std::max(sum, 0.0), 1e-5);
        }
}

TEST(Interpreter, FaultsAreNamed) {
  const Program program = parse("program f(x: f32[N]) -> z z: f32[i: N*M] = x[i]");
  const Tensor x = Tensor::zeros(ElementType::Float32, {3});
  EXPECT_THROW(interpret(program, {}), UserError);
  EXPECT_THROW(interpret(program, {{"x", x}}), UserError);
  EXPECT_THROW(interpret(program, {{"x", x}}, {{"N", 4}, {"M", 1}}), UserError);
  EXPECT_THROW(interpret(program, {{"x", x.cast(ElementType::Int32)}}, {{"M", 1}}), UserError);
  EXPECT_THROW(interpret(program, {{"x", x}}, {{"M", -1}}), UserError);
  EXPECT_EQ(interpret(program, {{"x", x}}, {{"M", 2}}).at("z").count(), 6);
  for (const char* faulty :
       {"z: f32[i: 4/0] = 1", "z: f32[] = sum[f32](i: 4/0) 1", "z: f32[] = sum[f32](i: 0 - 2) 1",
        "z: f32[i: 4] = x[i/(i - i)]", "z: f32[i: 4] = x[i*9223372036854775807]",
        "z: f32[i: 4] = x[(i mod 3)*9223372036854775807*i]"}) {
    const std::string head = "program f(x: f32[N]) -> z\n";
    EXPECT_THROW(interpret(parse(head + faulty), {{"x", x}}), UserError) << faulty;
  }
}

}  // namespace
}  // namespace opsmith::expression
