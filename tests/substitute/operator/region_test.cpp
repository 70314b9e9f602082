#include "substitute/operator/region.h"

#include <gtest/gtest.h>

#include "runtime/expression/interpreter.h"
#include "substitute/operator/catalogue/catalogue.h"
#include "substitute/operator/value_graph.h"
#include "support/error.h"
#include "tests/substitute/operator/layers.h"
#include "tests/substitute/operator/tensors.h"

namespace opsmith::substitute {
namespace {

using testing::random_tensors;

/// Runs an operator's text with every size bound on random tensors and compares each element of
/// its output with `expected(tensors, position)`.
template <typename Expected>
void check(const std::string& text, const expression::Binding& sizes, const Expected& expected) {
  SizeValues values;
  for (const auto& [name, value] : sizes) values.emplace(name, expression::Index(value));
  const ValueGraph graph = parse_operator(text);
  EXPECT_EQ(parse_operator(print(graph)), graph);
  const expression::Program program = lower(graph, values, {});
  expression::validate(program);
  const expression::Tensors tensors = random_tensors(program, 3);
  const Tensor result = expression::interpret(program, tensors).at(program.outputs[0]);
  Tensor reference(ElementType::Float32, result.shape());
  std::vector<int64_t> position(result.shape().size(), 0);
  for (float& element : reference.data<float>()) {
    element = static_cast<float>(expected(tensors, position));
    for (size_t d = position.size(); d-- > 0;) {
      if (++position[d] < result.shape()[d]) break;
      position[d] = 0;
    }
  }
  EXPECT_LT(relative_error(result, reference), 1e-6);
}

/// An element; zero outside the tensor.
double at(const Tensor& tensor, const std::vector<int64_t>& position) {
  int64_t offset = 0;
  for (size_t d = 0; d < position.size(); ++d) {
    if (position[d] < 0 || position[d] >= tensor.shape()[d]) return 0;
    offset = offset * tensor.shape()[d] + position[d];
  }
  return tensor.data<float>()[static_cast<size_t>(offset)];
}

using Position = std::vector<int64_t>;

constexpr const char* kConvolution = R"(operator convolution
input x[N, C_in, H, W]
region y[n: N, o: C_out, h: H_out, w: W_out] {
  reduce c: C_in/g
  reduce a: k
  reduce b: k
  share o -> o_x, o_w
  merge o_x by C_out/g -> group, rest
  expand rest
  share c -> c_x, c_w
  share a -> a_x, a_w
  share b -> b_x, b_w
  split group, c_x -> i
  stride h by stride -> h_s
  stride w by stride -> w_s
  stride a_x by dilation -> a_d
  stride b_x by dilation -> b_d
  unfold h_s, a_d minus pad into H -> p
  unfold w_s, b_d minus pad into W -> q
  read x[n, i, p, q]
  weight w1[o_w, c_w, a_w, b_w]
}
)";

TEST(Region, ComputesConvolutionsInGroupsWithStrideAndDilation) {
  struct Case {
    int64_t inputs, outputs, groups, kernel, stride, dilation, pad, extent;
  };
  for (const Case& c :
       {Case{3, 4, 1, 3, 1, 1, 1, 5}, Case{4, 6, 2, 3, 2, 1, 1, 7}, Case{4, 4, 4, 3, 1, 2, 2, 6},
        Case{2, 4, 2, 5, 2, 1, 1, 8}, Case{3, 2, 1, 1, 2, 1, 0, 5}}) {
    const int64_t output = (c.extent + 2 * c.pad - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
    check(kConvolution,
          {{"N", 2},
           {"C_in", c.inputs},
           {"C_out", c.outputs},
           {"g", c.groups},
           {"k", c.kernel},
           {"stride", c.stride},
           {"dilation", c.dilation},
           {"pad", c.pad},
           {"H", c.extent},
           {"W", c.extent},
           {"H_out", output},
           {"W_out", output}},
          [&](const expression::Tensors& t, const Position& p) {
            const int64_t each = c.inputs / c.groups, group = p[1] / (c.outputs / c.groups);
            double sum = 0;
            for (int64_t i = 0; i < each; ++i)
              for (int64_t a = 0; a < c.kernel; ++a)
                for (int64_t b = 0; b < c.kernel; ++b)
                  sum += at(t.at("x"),
                            {p[0], group * each + i, p[2] * c.stride + a * c.dilation - c.pad,
                             p[3] * c.stride + b * c.dilation - c.pad}) *
                         at(t.at("w1"), {p[1], i, a, b});
            return sum;
          });
  }
}

TEST(Region, ComputesAveragePoolingWithoutWeights) {
  check(R"(operator pooling
input x[N, C_in, H*s, W*s]
region sum[n: N, c: C_in, h: H, w: W] {
  reduce a: s
  reduce b: s
  split h, a -> p
  split w, b -> q
  read x[n, c, p, q]
}
)",
        {{"N", 2}, {"C_in", 3}, {"H", 3}, {"W", 2}, {"s", 2}},
        [](const expression::Tensors& t, const Position& p) {
          double sum = 0;
          for (int64_t a = 0; a < 2; ++a)
            for (int64_t b = 0; b < 2; ++b)
              sum += at(t.at("x"), {p[0], p[1], 2 * p[2] + a, 2 * p[3] + b});
          return sum;
        });
}

TEST(Region, ComputesPixelShuffle) {
  check(R"(operator pixel-shuffle
input x[N, C_out*r^2, H, W]
region y[n: N, c: C_out, h: H*r, w: W*r] {
  merge h by r -> p, a
  merge w by r -> q, b
  split c, a -> ca
  split ca, b -> i
  read x[n, i, p, q]
}
)",
        {{"N", 1}, {"C_out", 2}, {"H", 3}, {"W", 4}, {"r", 2}},
        [](const expression::Tensors& t, const Position& p) {
          return at(t.at("x"), {p[0], (p[1] * 2 + p[2] % 2) * 2 + p[3] % 2, p[2] / 2, p[3] / 2});
        });
}

TEST(Region, ComputesMatrixProducts) {
  check(R"(operator product
input x[M, K]
region y[m: M, o: C_out] {
  reduce k: K
  share k -> k_x, k_w
  read x[m, k_x]
  weight w1[k_w, o]
}
)",
        {{"M", 3}, {"K", 5}, {"C_out", 4}}, [](const expression::Tensors& t, const Position& p) {
          double sum = 0;
          for (int64_t k = 0; k < 5; ++k)
            sum += at(t.at("x"), {p[0], k}) * at(t.at("w1"), {k, p[1]});
          return sum;
        });
}

TEST(Region, ShiftsAroundTheEnd) {
  check(R"(operator shift
input x[H]
region y[h: H] {
  shift h by -2 -> p
  read x[p]
}
)",
        {{"H", 5}}, [](const expression::Tensors& t, const Position& p) {
          return at(t.at("x"), {(p[0] + 3) % 5});
        });
}

TEST(Region, UnfoldedCoordinatesDoNotBleedWhenTransformedFurther) {
  // Windows over H, then H and C taken as one dimension: beyond the last row is zero, not the
  // first row of the next channel.
  check(R"(operator bleed
input x[C_in*H]
region y[c: C_in, h: H, a: k] {
  unfold h, a -> p
  split c, p -> i
  read x[i]
}
)",
        {{"C_in", 3}, {"H", 4}, {"k", 3}}, [](const expression::Tensors& t, const Position& p) {
          const int64_t row = p[1] + p[2] - 1;
          return row < 0 || row >= 4 ? 0.0 : at(t.at("x"), {p[0] * 4 + row});
        });
  // Cut off first, then wrapped: what left the tensor does not come back.
  check(R"(operator cut-then-wrap
input x[H]
region y[h: H] {
  reduce a: k
  unfold h, a -> p
  shift p by 1 -> q
  read x[q]
}
)",
        {{"H", 5}, {"k", 3}}, [](const expression::Tensors& t, const Position& p) {
          double sum = 0;
          for (int64_t a = 0; a < 3; ++a)
            if (const int64_t row = p[0] + a - 1; row >= 0 && row < 5)
              sum += at(t.at("x"), {(row + 1) % 5});
          return sum;
        });
  // Wrapped first, then cut off: another operator.
  check(R"(operator wrap-then-cut
input x[H]
region y[h: H] {
  reduce a: k
  shift h by 1 -> p
  unfold p, a -> q
  read x[q]
}
)",
        {{"H", 5}, {"k", 3}}, [](const expression::Tensors& t, const Position& p) {
          double sum = 0;
          for (int64_t a = 0; a < 3; ++a) sum += at(t.at("x"), {(p[0] + 1) % 5 + a - 1});
          return sum;
        });
}

TEST(Region, ComputesTheOperatorsOfSyno) {
  const int64_t inputs = 8, outputs = 12, g = 2, s = 3, extent = 4, k = 3;
  const expression::Binding sizes = {{"N", 2},          {"C_in", inputs}, {"C_out", outputs},
                                     {"g", g},          {"s", s},         {"H", extent},
                                     {"W", extent + 1}, {"kh", k},        {"kw", k}};
  const int64_t each = inputs / g, rank = outputs / (g * s);
  check(syno_operator_1().text, sizes, [&](const expression::Tensors& t, const Position& p) {
    double sum = 0;
    for (int64_t l = 0; l < g; ++l)
      for (int64_t a = 0; a < k; ++a)
        for (int64_t b = 0; b < k; ++b)
          for (int64_t r = 0; r < rank; ++r)
            for (int64_t c = 0; c < each; ++c)
              sum += at(t.at("x"), {p[0], l * each + c, p[2] + a - 1, p[3] + b - 1}) *
                     at(t.at("w1"), {p[1], l, a, b, r}) * at(t.at("w2"), {l * each + c, b, r});
    return sum;
  });
  check(syno_operator_2().text, sizes, [&](const expression::Tensors& t, const Position& p) {
    double sum = 0;
    for (int64_t l = 0; l < g; ++l)
      for (int64_t a = 0; a < k; ++a)
        for (int64_t b = 0; b < k; ++b)
          for (int64_t r = 0; r < rank; ++r)
            for (int64_t c = 0; c < each; ++c) {
              const int64_t row = p[2] + a - 1;
              if (row < 0 || row >= extent) continue;
              sum += at(t.at("x"), {p[0], l * each + c, (row + 1) % extent, p[3] + b - 1}) *
                     at(t.at("w1"), {p[1], l, a, r}) * at(t.at("w2"), {l * each + c, b, r});
            }
    return sum;
  });
}

TEST(Region, RejectsWhatMeansNothing) {
  const auto complaint = [](const std::string& body) {
    try {
      parse_operator("operator bad\ninput x[H]\nregion y[h: H] {\n" + body + "}\n");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(complaint("  read x[h]\n  weight w1[h]\n").find("used twice; share it first"),
            std::string::npos);
  EXPECT_NE(complaint("  reduce a: k\n  read x[h]\n").find("a ends nowhere"), std::string::npos);
  EXPECT_NE(complaint("  expand h\n").find("reads no data tensor"), std::string::npos);
  EXPECT_NE(complaint("  stride h by s -> p\n  read x[p]\n").find("reads x as [H*s]"),
            std::string::npos);
  EXPECT_NE(complaint("  read z[h]\n").find("there is no tensor z"), std::string::npos);
  EXPECT_NE(complaint("  merge h by H^2 -> p, q\n  expand q\n  read x[p]\n").find("may not divide"),
            std::string::npos);
  EXPECT_NE(complaint("  frobnicate h\n").find("line 4, column 3: expected reduce"),
            std::string::npos);
  EXPECT_NE(complaint("  reduce a: k\n  reduce b: H\n  unfold b, a -> p\n  expand p\n  read x[h]\n")
                .find("lose its zeros"),
            std::string::npos);
}

TEST(Region, TellsWhichCoordinatesAreOpen) {
  Region region;
  const Coordinate h = region.output("h", Size::variable("H"));
  const Coordinate a = region.reduce("a", Size::variable("k"));
  EXPECT_EQ(region.open(), (std::vector<Coordinate>{h, a}));
  const Coordinate p = region.unfold(h, a);
  EXPECT_EQ(region.open(), std::vector<Coordinate>{p});
  EXPECT_EQ(region.extent(p), Size::variable("H"));
}

}  // namespace
}  // namespace opsmith::substitute
