#include "substitute/operator/value_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/expression/interpreter.h"
#include "support/error.h"
#include "tests/substitute/operator/tensors.h"

namespace opsmith::substitute {
namespace {

struct Outcome {
  expression::Tensors tensors;
  Tensor output;
};

Outcome run(const std::string& text, const expression::Binding& sizes) {
  SizeValues values;
  for (const auto& [name, value] : sizes) values.emplace(name, expression::Index(value));
  const ValueGraph graph = parse_operator(text);
  EXPECT_EQ(parse_operator(print(graph)), graph);
  const expression::Program program = lower(graph, values, {});
  expression::validate(program);
  Outcome result{testing::random_tensors(program, 11), {}};
  result.output = expression::interpret(program, result.tensors).at(program.outputs[0]);
  return result;
}

TEST(ValueGraph, ExpressesSqueezeAndExcitation) {
  const Outcome result = run(R"(operator squeeze-and-excitation
input x[N, C_in, H, W]
fold mean = average(x) over 2, 3
region squeezed[n: N, r: C_in/s] {
  reduce c: C_in
  share c -> c_x, c_w
  read mean[n, c_x]
  weight w1[r, c_w]
}
map active = relu(squeezed)
region excited[n: N, o: C_in] {
  reduce r: C_in/s
  share r -> r_x, r_w
  read active[n, r_x]
  weight w2[o, r_w]
}
map gate = sigmoid(excited)
region y[n: N, c: C_in, h: H, w: W] {
  share n -> n_x, n_g
  share c -> c_x, c_g
  read x[n_x, c_x, h, w]
  read gate[n_g, c_g]
}
)",
                             {{"N", 2}, {"C_in", 4}, {"H", 3}, {"W", 5}, {"s", 2}});
  const auto x = result.tensors.at("x").data<float>(), w1 = result.tensors.at("w1").data<float>(),
             w2 = result.tensors.at("w2").data<float>();
  Tensor expected(ElementType::Float32, {2, 4, 3, 5});
  for (size_t n = 0; n < 2; ++n) {
    double mean[4] = {}, hidden[2] = {};
    for (size_t c = 0; c < 4; ++c)
      for (size_t i = 0; i < 15; ++i) mean[c] += x[(n * 4 + c) * 15 + i] / 15.0;
    for (size_t r = 0; r < 2; ++r) {
      for (size_t c = 0; c < 4; ++c) hidden[r] += mean[c] * w1[r * 4 + c];
      hidden[r] = std::max(hidden[r], 0.0);
    }
    for (size_t c = 0; c < 4; ++c) {
      const double excited = hidden[0] * w2[c * 2] + hidden[1] * w2[c * 2 + 1];
      for (size_t i = 0; i < 15; ++i) {
        const size_t at = (n * 4 + c) * 15 + i;
        expected.data<float>()[at] = static_cast<float>(x[at] / (1 + std::exp(-excited)));
      }
    }
  }
  EXPECT_LT(relative_error(result.output, expected), 1e-6);
}

TEST(ValueGraph, ExpressesInvolution) {
  // One kernel per position and group, made from the position's own channels.
  const Outcome result = run(R"(operator involution
input x[N, C_in, H, W]
region kernel[n: N, l: g, a: k, b: k, h: H, w: W] {
  reduce c: C_in
  share c -> c_x, c_w
  read x[n, c_x, h, w]
  weight w1[l, a, b, c_w]
}
region y[n: N, o: C_in, h: H, w: W] {
  reduce a: k
  reduce b: k
  share n -> n_x, n_k
  share h -> h_x, h_k
  share w -> w_x, w_k
  share a -> a_x, a_k
  share b -> b_x, b_k
  share o -> o_x, o_k
  merge o_k by C_in/g -> l, rest
  expand rest
  unfold h_x, a_x -> p
  unfold w_x, b_x -> q
  read x[n_x, o_x, p, q]
  read kernel[n_k, l, a_k, b_k, h_k, w_k]
}
)",
                             {{"N", 1}, {"C_in", 4}, {"H", 4}, {"W", 3}, {"g", 2}, {"k", 3}});
  const auto x = result.tensors.at("x").data<float>(), w = result.tensors.at("w1").data<float>();
  const auto image = [&](int64_t c, int64_t h, int64_t v) {
    return h < 0 || h >= 4 || v < 0 || v >= 3 ? 0.0 : double(x[size_t((c * 4 + h) * 3 + v)]);
  };
  Tensor expected(ElementType::Float32, {1, 4, 4, 3});
  for (int64_t o = 0; o < 4; ++o)
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t v = 0; v < 3; ++v) {
        double sum = 0;
        for (int64_t a = 0; a < 3; ++a)
          for (int64_t b = 0; b < 3; ++b) {
            double kernel = 0;
            for (int64_t c = 0; c < 4; ++c)
              kernel += image(c, h, v) * w[size_t(((o / 2 * 3 + a) * 3 + b) * 4 + c)];
            sum += kernel * image(o, h + a - 1, v + b - 1);
          }
        expected.data<float>()[size_t((o * 4 + h) * 3 + v)] = static_cast<float>(sum);
      }
  EXPECT_LT(relative_error(result.output, expected), 1e-5);
}

TEST(ValueGraph, NormalizesOverSeveralDimensions) {
  const Outcome result = run(R"(operator softmax
input x[N, K, M]
normalize y = softmax(x) over 0, 2
)",
                             {{"N", 2}, {"K", 3}, {"M", 4}});
  const auto x = result.tensors.at("x").data<float>(), y = result.output.data<float>();
  for (size_t k = 0; k < 3; ++k) {
    double total = 0;
    for (size_t n = 0; n < 2; ++n)
      for (size_t m = 0; m < 4; ++m) total += std::exp(double(x[(n * 3 + k) * 4 + m]));
    for (size_t n = 0; n < 2; ++n)
      for (size_t m = 0; m < 4; ++m) {
        const size_t at = (n * 3 + k) * 4 + m;
        EXPECT_NEAR(y[at], std::exp(double(x[at])) / total, 1e-6);
      }
  }
}

TEST(ValueGraph, FoldsToTheLargest) {
  const Outcome result =
      run("operator largest\ninput x[K, M]\nfold y = maximum(x) over 1\n", {{"K", 3}, {"M", 4}});
  const auto x = result.tensors.at("x").data<float>();
  for (size_t k = 0; k < 3; ++k)
    EXPECT_EQ(result.output.data<float>()[k], *std::max_element(&x[k * 4], &x[k * 4] + 4));
}

TEST(ValueGraph, BroadcastsTheFirstOperandByRepeatingTheUnmatchedMiddle) {
  // [C_in, H] to [g, k, C_in/g*..., H]: the middle of 4 elements is repeated 6 / 2 = 3 times.
  const Outcome result = run(R"(operator broadcast
input a[N, g, H]
input b[N, k, g, H]
map y = subtract(a, b)
)",
                             {{"N", 2}, {"g", 2}, {"k", 3}, {"H", 2}});
  const auto a = result.tensors.at("a").data<float>(), b = result.tensors.at("b").data<float>();
  for (size_t n = 0; n < 2; ++n)
    for (size_t middle = 0; middle < 6; ++middle)
      for (size_t h = 0; h < 2; ++h) {
        const size_t at = (n * 6 + middle) * 2 + h;
        EXPECT_EQ(result.output.data<float>()[at], a[(n * 2 + middle % 2) * 2 + h] - b[at]);
      }
}

TEST(ValueGraph, RejectsWhatDoesNotFit) {
  const auto complaint = [](const std::string& text) {
    try {
      SizeValues values = {{"N", expression::Index(2)}, {"K", expression::Index(3)}};
      lower(parse_operator(text), values, {});
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(complaint("operator a\ninput x[N]\nmap y = relu(z)\n").find("no tensor z"),
            std::string::npos);
  EXPECT_NE(complaint("operator a\ninput x[N]\nmap y = add(x)\n").find("another number"),
            std::string::npos);
  EXPECT_NE(complaint("operator a\ninput x[N]\nmap x = relu(x)\n").find("declared twice"),
            std::string::npos);
  EXPECT_NE(complaint("operator a\ninput x[N]\nfold y = average(x) over 1\n").find("below 1"),
            std::string::npos);
  EXPECT_NE(complaint("operator a\ninput x[N]\ninput z[K]\nmap y = add(x, z)\n")
                .find("cannot be repeated"),
            std::string::npos);
  EXPECT_NE(complaint("operator a\ninput x[N]\n").find("no node"), std::string::npos);
}

}  // namespace
}  // namespace opsmith::substitute
