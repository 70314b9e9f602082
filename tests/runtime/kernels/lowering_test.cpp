// Expressions of the hot operators against plain loops, over random shapes and attributes that the
// conformance cases do not reach.
#include "runtime/kernels/lowering.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/executor/node_evaluation.h"
#include "support/error.h"
#include "support/random.h"

namespace opsmith {
namespace {

using graph::Node;

Tensor random_tensor(Random& random, const Shape& shape) {
  Tensor tensor(ElementType::Float32, shape);
  for (float& value : tensor.data<float>()) value = static_cast<float>(random.uniform(-1, 1));
  return tensor;
}

Node make_node(const std::string& type, size_t inputs,
               std::map<std::string, graph::Attribute> attributes) {
  Node node;
  node.name = "tested";
  node.type = type;
  for (size_t i = 0; i < inputs; ++i) node.inputs.push_back(static_cast<graph::ValueId>(i));
  node.outputs = {static_cast<graph::ValueId>(inputs)};
  node.attributes = std::move(attributes);
  return node;
}

Tensor evaluate(const Node& node, const std::vector<Tensor>& inputs, int64_t opset = 17) {
  graph::Model model;
  model.opsets[""] = opset;
  return executor::evaluate_node(node, model, inputs).at(0);
}

struct ConvolutionCase {
  int64_t batch, groups, channels, filters;  // channels and filters per group
  int64_t height, width, kernel_height, kernel_width;
  int64_t stride_height, stride_width, dilation_height, dilation_width;
  int64_t top, left, bottom, right;

  static ConvolutionCase draw(Random& random) {
    auto pick = [&](int64_t low, int64_t high) { return random.integer(low, high); };
    ConvolutionCase c{pick(1, 2), pick(1, 3), pick(1, 4), pick(1, 3), pick(5, 9), pick(5, 9),
                      pick(1, 3), pick(1, 3), pick(1, 3), pick(1, 2), pick(1, 2), pick(1, 2),
                      pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)};
    return c;
  }
  std::map<std::string, graph::Attribute> attributes() const {
    return {{"group", groups},
            {"strides", std::vector<int64_t>{stride_height, stride_width}},
            {"dilations", std::vector<int64_t>{dilation_height, dilation_width}},
            {"pads", std::vector<int64_t>{top, left, bottom, right}}};
  }
};

float at(const Tensor& t, int64_t n, int64_t c, int64_t h, int64_t w) {
  const Shape& s = t.shape();
  return t.data<float>()[static_cast<size_t>(((n * s[1] + c) * s[2] + h) * s[3] + w)];
}

TEST(Lowering, ConvolutionEqualsPlainLoops) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    ConvolutionCase c = ConvolutionCase::draw(random);
    Tensor x = random_tensor(random, {c.batch, c.groups * c.channels, c.height, c.width});
    Tensor w =
        random_tensor(random, {c.groups * c.filters, c.channels, c.kernel_height, c.kernel_width});
    Tensor bias = random_tensor(random, {c.groups * c.filters});
    Tensor y = evaluate(make_node("Conv", 3, c.attributes()), {x, w, bias});
    Tensor expected(ElementType::Float32, y.shape());
    size_t flat = 0;
    for (int64_t n = 0; n < y.shape()[0]; ++n) {
      for (int64_t o = 0; o < y.shape()[1]; ++o) {
        for (int64_t p = 0; p < y.shape()[2]; ++p) {
          for (int64_t q = 0; q < y.shape()[3]; ++q) {
            double sum = bias.data<float>()[static_cast<size_t>(o)];
            for (int64_t i = 0; i < c.channels; ++i) {
              for (int64_t a = 0; a < c.kernel_height; ++a) {
                for (int64_t b = 0; b < c.kernel_width; ++b) {
                  int64_t h = p * c.stride_height + a * c.dilation_height - c.top;
                  int64_t v = q * c.stride_width + b * c.dilation_width - c.left;
                  if (h < 0 || h >= c.height || v < 0 || v >= c.width) continue;
                  sum += static_cast<double>(at(x, n, o / c.filters * c.channels + i, h, v)) *
                         at(w, o, i, a, b);
                }
              }
            }
            expected.data<float>()[flat++] = static_cast<float>(sum);
          }
        }
      }
    }
    EXPECT_EQ(y.shape()[2],
              (c.height + c.top + c.bottom - c.dilation_height * (c.kernel_height - 1) - 1) /
                      c.stride_height +
                  1);
    EXPECT_LT(relative_error(y, expected), 1e-5) << "round " << round;
  }
}

TEST(Lowering, TransposedConvolutionScattersEveryInput) {
  Random random(12);
  for (int round = 0; round < 40; ++round) {
    ConvolutionCase c = ConvolutionCase::draw(random);
    c.top = c.left = c.bottom = c.right = random.integer(0, 1);
    Tensor x = random_tensor(random, {c.batch, c.groups * c.channels, c.height, c.width});
    Tensor w =
        random_tensor(random, {c.groups * c.channels, c.filters, c.kernel_height, c.kernel_width});
    auto attributes = c.attributes();
    int64_t extra = random.integer(0, c.stride_height - 1);
    attributes["output_padding"] = std::vector<int64_t>{extra, 0};
    Tensor y = evaluate(make_node("ConvTranspose", 2, attributes), {x, w});
    ASSERT_EQ(y.shape()[2], c.stride_height * (c.height - 1) + extra +
                                c.dilation_height * (c.kernel_height - 1) + 1 - 2 * c.top);
    Tensor expected = Tensor::zeros(ElementType::Float32, y.shape());
    for (int64_t n = 0; n < c.batch; ++n) {
      for (int64_t i = 0; i < x.shape()[1]; ++i) {
        for (int64_t h = 0; h < c.height; ++h) {
          for (int64_t v = 0; v < c.width; ++v) {
            for (int64_t o = 0; o < c.filters; ++o) {
              for (int64_t a = 0; a < c.kernel_height; ++a) {
                for (int64_t b = 0; b < c.kernel_width; ++b) {
                  int64_t p = h * c.stride_height + a * c.dilation_height - c.top;
                  int64_t q = v * c.stride_width + b * c.dilation_width - c.left;
                  if (p < 0 || p >= y.shape()[2] || q < 0 || q >= y.shape()[3]) continue;
                  int64_t channel = i / c.channels * c.filters + o;
                  int64_t flat =
                      ((n * y.shape()[1] + channel) * y.shape()[2] + p) * y.shape()[3] + q;
                  expected.data<float>()[static_cast<size_t>(flat)] +=
                      at(x, n, i, h, v) * at(w, i, o, a, b);
                }
              }
            }
          }
        }
      }
    }
    EXPECT_LT(relative_error(y, expected), 1e-5) << "round " << round;
  }
}

TEST(Lowering, PoolingCountsOrSkipsPadding) {
  Random random(13);
  for (int round = 0; round < 60; ++round) {
    ConvolutionCase c = ConvolutionCase::draw(random);
    c.kernel_height = random.integer(2, 3);
    c.kernel_width = random.integer(2, 3);
    c.top = c.bottom = c.left = c.right = 1;
    bool include = random.integer(0, 1) == 1, ceiling = random.integer(0, 1) == 1;
    Tensor x = random_tensor(random, {c.batch, 3, c.height, c.width});
    auto attributes = c.attributes();
    attributes.erase("group");
    attributes["kernel_shape"] = std::vector<int64_t>{c.kernel_height, c.kernel_width};
    attributes["ceil_mode"] = int64_t{ceiling};
    Tensor maximum = evaluate(make_node("MaxPool", 1, attributes), {x}, 19);
    attributes["count_include_pad"] = int64_t{include};
    Tensor average = evaluate(make_node("AveragePool", 1, attributes), {x}, 19);
    ASSERT_EQ(maximum.shape(), average.shape());
    for (int64_t channel = 0; channel < 3; ++channel) {
      for (int64_t p = 0; p < average.shape()[2]; ++p) {
        for (int64_t q = 0; q < average.shape()[3]; ++q) {
          double sum = 0, best = -1e30;
          int64_t count = 0;
          for (int64_t a = 0; a < c.kernel_height; ++a) {
            for (int64_t b = 0; b < c.kernel_width; ++b) {
              int64_t h = p * c.stride_height + a * c.dilation_height - c.top;
              int64_t v = q * c.stride_width + b * c.dilation_width - c.left;
              bool padded = h < c.height + c.bottom && v < c.width + c.right;
              bool inside = h >= 0 && h < c.height && v >= 0 && v < c.width;
              if (inside) {
                double value = at(x, 0, channel, h, v);
                sum += value;
                best = std::max(best, value);
              }
              if (include ? padded : inside) ++count;
            }
          }
          EXPECT_NEAR(at(average, 0, channel, p, q), sum / static_cast<double>(count), 1e-5);
          EXPECT_NEAR(at(maximum, 0, channel, p, q), best, 1e-6);
        }
      }
    }
  }
}

TEST(Lowering, MatrixProductsBroadcastTheirBatches) {
  Random random(14);
  struct Case {
    Shape a, b, result;
  };
  for (const Case& c :
       {Case{{3, 4}, {4, 5}, {3, 5}}, Case{{2, 3, 4}, {4, 5}, {2, 3, 5}},
        Case{{2, 1, 3, 4}, {6, 4, 5}, {2, 6, 3, 5}}, Case{{4}, {4, 5}, {5}},
        Case{{2, 3, 4}, {4}, {2, 3}}, Case{{4}, {4}, {}}, Case{{1, 3, 4}, {7, 4, 1}, {7, 3, 1}}}) {
    Tensor a = random_tensor(random, c.a), b = random_tensor(random, c.b);
    Tensor y = evaluate(make_node("MatMul", 2, {}), {a, b});
    ASSERT_EQ(y.shape(), c.result);
    // Sum over everything but the last index of b, against the product of sums where that holds.
    if (c.a.size() != 2 || c.b.size() != 2) continue;
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 5; ++j) {
        double sum = 0;
        for (size_t k = 0; k < 4; ++k) {
          sum += static_cast<double>(a.data<float>()[i * 4 + k]) * b.data<float>()[k * 5 + j];
        }
        EXPECT_NEAR(y.data<float>()[i * 5 + j], sum, 1e-5);
      }
    }
  }
  EXPECT_THROW(evaluate(make_node("MatMul", 2, {}),
                        {random_tensor(random, {2, 3}), random_tensor(random, {2, 3})}),
               UserError);
}

TEST(Lowering, BatchedProductsEqualThoseOfEachBatch) {
  Random random(15);
  Tensor a = random_tensor(random, {2, 1, 3, 4}), b = random_tensor(random, {6, 4, 5});
  Tensor y = evaluate(make_node("MatMul", 2, {}), {a, b});
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 6; ++j) {
      for (int64_t m = 0; m < 3; ++m) {
        for (int64_t n = 0; n < 5; ++n) {
          double sum = 0;
          for (int64_t k = 0; k < 4; ++k) {
            sum += static_cast<double>(a.data<float>()[static_cast<size_t>((i * 3 + m) * 4 + k)]) *
                   b.data<float>()[static_cast<size_t>((j * 4 + k) * 5 + n)];
          }
          EXPECT_NEAR(at(y, i, j, m, n), sum, 1e-5);
        }
      }
    }
  }
}

TEST(Lowering, SoftmaxBeforeOpset13FlattensFromItsAxisOn) {
  Random random(16);
  Tensor x = random_tensor(random, {2, 3, 4});
  Tensor old = evaluate(make_node("Softmax", 1, {{"axis", int64_t{1}}}), {x}, 11);
  Tensor flat = evaluate(make_node("Softmax", 1, {{"axis", int64_t{1}}}), {x.reshaped({2, 12})});
  EXPECT_LT(relative_error(old.reshaped({2, 12}), flat), 1e-6);
  Tensor now = evaluate(make_node("Softmax", 1, {}), {x}, 13);
  double sum = 0;
  for (size_t i = 0; i < 4; ++i) sum += now.data<float>()[i];
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(Lowering, MisuseIsRefusedWithTheNodesName) {
  Random random(17);
  Tensor x = random_tensor(random, {1, 4, 5, 5});
  struct Case {
    Node node;
    std::vector<Tensor> inputs;
  };
  std::vector<Case> cases = {
      {make_node("Conv", 2, {}), {x, random_tensor(random, {2, 3, 3, 3})}},
      {make_node("Conv", 2, {{"strides", std::vector<int64_t>{1}}}),
       {x, random_tensor(random, {2, 4, 3, 3})}},
      {make_node("Conv", 2, {}), {x, random_tensor(random, {2, 4, 9, 9})}},
      {make_node("MaxPool", 1, {{"kernel_shape", std::vector<int64_t>{2}}}), {x}},
      {make_node("Concat", 2, {{"axis", int64_t{1}}}), {x, random_tensor(random, {1, 4, 5, 6})}},
      {make_node("Concat", 2, {{"axis", int64_t{7}}}), {x, x}},
      {make_node("Add", 2, {}), {x, random_tensor(random, {3})}},
      {make_node("Reshape", 2, {}), {x, Tensor::of<int64_t>({2}, {7, -1})}},
      {make_node("Gather", 2, {}), {x, Tensor::of<int64_t>({1}, {4})}},
      {make_node("Transpose", 1, {{"perm", std::vector<int64_t>{0, 0, 1, 2}}}), {x}},
  };
  for (const Case& c : cases) {
    try {
      evaluate(c.node, c.inputs);
      ADD_FAILURE() << c.node.type << " was accepted";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("tested"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(evaluate(make_node("Frobnicate", 1, {}), {x}), Unsupported);
}

}  // namespace
}  // namespace opsmith
