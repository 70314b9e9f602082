#include <gtest/gtest.h>

#include <algorithm>

#include "substitute/operator/value_graph.h"
#include "tests/substitute/operator/tensors.h"

namespace opsmith::substitute {
namespace {

constexpr int64_t channels = 4, height = 19, width = 18;

/// An operator of x [1, C, H, W] with its output and what it was computed from.
class Computed {
 public:
  explicit Computed(const std::string& text, const expression::Tensors& given = {}) {
    SizeValues values;
    for (const auto& [name, value] : expression::Binding{
             {"N", 1}, {"C", channels}, {"H", height}, {"W", width}, {"k", 5}, {"d", 3}, {"g", 2}})
      values.insert_or_assign(name, expression::Index(value));
    const expression::Program program = lower(parse_operator(text), values, {});
    tensors = testing::random_tensors(program, 3);
    for (const auto& [name, tensor] : given) tensors[name] = tensor;
    y = expression::interpret(program, tensors).at("y");
  }

  float weight(const std::string& name, int64_t flat) const {
    return tensors.at(name).data<float>()[static_cast<size_t>(flat)];
  }
  static size_t at(int64_t c, int64_t h, int64_t w) {
    return static_cast<size_t>((c * height + h) * width + w);
  }
  float x(int64_t c, int64_t h, int64_t w) const {
    const bool inside = h >= 0 && h < height && w >= 0 && w < width;
    return inside ? tensors.at("x").data<float>()[at(c, h, w)] : 0;
  }

  expression::Tensors tensors;
  Tensor y;
};

/// Calls value(c, h, w) for each element and compares.
template <typename Function>
void expect_elements(const Tensor& y, const Function& value) {
  Tensor expected(ElementType::Float32, y.shape());
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t h = 0; h < height; ++h)
      for (int64_t w = 0; w < width; ++w)
        expected.data<float>()[Computed::at(c, h, w)] = static_cast<float>(value(c, h, w));
  EXPECT_LE(relative_error(y, expected), 1e-5);
}

/// A window for each channel, a dilated window for each channel, a product over the channels, and
/// the result times the input (Guo et al., "Visual Attention Network").
const char* const large_kernel_attention = R"(operator large-kernel-attention
input x[N, C, H, W]
region near[n: N, c: C, h: H, w: W] {
  reduce a: k
  reduce b: k
  share c -> c_x, c_w
  share a -> a_x, a_w
  share b -> b_x, b_w
  unfold h, a_x -> p
  unfold w, b_x -> q
  read x[n, c_x, p, q]
  weight w1[c_w, a_w, b_w]
}
region far[n: N, c: C, h: H, w: W] {
  reduce a: k
  reduce b: k
  share c -> c_x, c_w
  share a -> a_x, a_w
  share b -> b_x, b_w
  stride a_x by d -> a_d
  stride b_x by d -> b_d
  unfold h, a_d minus 6 -> p
  unfold w, b_d minus 6 -> q
  read near[n, c_x, p, q]
  weight w2[c_w, a_w, b_w]
}
region attention[n: N, o: C, h: H, w: W] {
  reduce c: C
  share c -> c_x, c_w
  read far[n, c_x, h, w]
  weight w3[o, c_w]
}
map y = multiply(attention, x)
)";

TEST(Expressible, LargeKernelAttention) {
  const Computed run(large_kernel_attention);
  std::vector<double> near(static_cast<size_t>(channels * height * width)), far = near;
  const auto inside = [](int64_t h, int64_t w) {
    return h >= 0 && h < height && w >= 0 && w < width;
  };
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t h = 0; h < height; ++h)
      for (int64_t w = 0; w < width; ++w)
        for (int64_t a = 0; a < 5; ++a)
          for (int64_t b = 0; b < 5; ++b)
            near[Computed::at(c, h, w)] +=
                run.x(c, h + a - 2, w + b - 2) * run.weight("w1", (c * 5 + a) * 5 + b);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t h = 0; h < height; ++h)
      for (int64_t w = 0; w < width; ++w)
        for (int64_t a = 0; a < 5; ++a)
          for (int64_t b = 0; b < 5; ++b)
            if (inside(h + 3 * a - 6, w + 3 * b - 6))
              far[Computed::at(c, h, w)] += near[Computed::at(c, h + 3 * a - 6, w + 3 * b - 6)] *
                                            run.weight("w2", (c * 5 + a) * 5 + b);
  expect_elements(run.y, [&](int64_t o, int64_t h, int64_t w) {
    double sum = 0;
    for (int64_t c = 0; c < channels; ++c)
      sum += far[Computed::at(c, h, w)] * run.weight("w3", o * channels + c);
    return sum * run.x(o, h, w);
  });
}

/// One element of the input reaches 8 elements in each direction and no further.
TEST(Expressible, LargeKernelAttentionSees17By17) {
  const Computed plain(large_kernel_attention);
  expression::Tensors changed = plain.tensors;
  changed["x"] = plain.tensors.at("x").clone();
  changed["x"].data<float>()[Computed::at(1, 9, 9)] += 1;
  const Computed moved(large_kernel_attention, changed);
  int64_t least = height, most = -1;
  for (int64_t h = 0; h < height; ++h)
    for (int64_t w = 0; w < width; ++w)
      if (plain.y.data<float>()[Computed::at(0, h, w)] !=
          moved.y.data<float>()[Computed::at(0, h, w)]) {
        least = std::min({least, h, w});
        most = std::max({most, h, w});
      }
  EXPECT_EQ(least, 1);
  EXPECT_EQ(most, 17);
}

/// Canvas, figure 9, kernel A: the image is averaged to its channels, which a product turns into
/// one weight for each pixel.
TEST(Expressible, CanvasKernelA) {
  const Computed run(R"(operator canvas-kernel-a
input x[N, C, H, W]
fold mean = average(x) over 2, 3
region gate[n: N, p: H*W] {
  reduce c: C
  share c -> c_x, c_w
  read mean[n, c_x]
  weight w1[p, c_w]
}
map y = multiply(gate, x)
)");
  std::vector<double> mean(channels);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t h = 0; h < height; ++h)
      for (int64_t w = 0; w < width; ++w)
        mean[static_cast<size_t>(c)] += run.x(c, h, w) / double(height * width);
  expect_elements(run.y, [&](int64_t o, int64_t h, int64_t w) {
    double gate = 0;
    for (int64_t c = 0; c < channels; ++c)
      gate += mean[static_cast<size_t>(c)] * run.weight("w1", (h * width + w) * channels + c);
    return gate * run.x(o, h, w);
  });
}

/// Canvas, figure 9, kernel B as the text describes it: channels only, and a shift that counts
/// because the input is added.
TEST(Expressible, CanvasKernelB) {
  const Computed run(R"(operator canvas-kernel-b
input x[N, C, H, W]
region mixed[n: N, o: C, h: H, w: W] {
  reduce c: C/g
  merge o by C/g -> l, r
  share l -> l_x, l_w
  share c -> c_x, c_w
  split l_x, c_x -> i
  shift h by 1 -> p
  read x[n, i, p, w]
  weight w1[l_w, r, c_w]
}
map active = relu(mixed)
map y = add(active, x)
)");
  expect_elements(run.y, [&](int64_t o, int64_t h, int64_t w) {
    double sum = 0;
    for (int64_t c = 0; c < 2; ++c)
      sum += run.x(o / 2 * 2 + c, (h + 1) % height, w) * run.weight("w1", o * 2 + c);
    return std::max(sum, 0.0) + run.x(o, h, w);
  });
}

/// Each channel looks at one neighbour of its own and all are mixed (Wu et al., "Shift"): the
/// neighbour is the block of the channel, so that a coordinate stands twice in one tensor.
TEST(Expressible, ShiftConvolution) {
  const Computed run(R"(operator shift-convolution
input x[N, C, H, W]
region y[n: N, o: C, h: H, w: W] {
  reduce l: g
  reduce c: C/g
  share l -> l_d, l_w
  share l_d -> l_x, l_a
  share c -> c_x, c_w
  split l_x, c_x -> i
  unfold h, l_a -> p
  read x[n, i, p, w]
  weight w1[o, l_w, c_w]
}
)");
  expect_elements(run.y, [&](int64_t o, int64_t h, int64_t w) {
    double sum = 0;
    for (int64_t c = 0; c < channels; ++c)
      sum += run.x(c, h + c / 2 - 1, w) * run.weight("w1", o * channels + c);
    return sum;
  });
}

}  // namespace
}  // namespace opsmith::substitute
