#include "tests/search/synthesis/known_operators.h"

#include <gtest/gtest.h>

#include "runtime/expression/interpreter.h"
#include "search/synthesis/cost.h"
#include "support/random.h"

namespace opsmith::synthesis {
namespace {

using expression::Tensors;

Problem resnet18(int64_t groups = 32) {
  return problem_for(resnet18_layers(), {{"k", 3}, {"s", 2}, {"g", groups}});
}

struct Known {
  std::string name;
  FoundOperator (*script)(testing::Script&);
  int64_t groups = 32;
};

class KnownOperatorTest : public ::testing::TestWithParam<Known> {};

TEST_P(KnownOperatorTest, EveryStepIsOffered) {
  Space space(resnet18(GetParam().groups), Limits::resnet18());
  testing::Script script(space);
  const FoundOperator found = GetParam().script(script);
  EXPECT_EQ(script.refused, "");
  EXPECT_LE(script.state.depth, space.limits().depth);
  EXPECT_NE(found.hash, 0u);
}

INSTANTIATE_TEST_SUITE_P(Known, KnownOperatorTest,
                         ::testing::Values(Known{"convolution", testing::convolution},
                                           Known{"grouped_convolution",
                                                 // 32 groups would cost less than the limits ask
                                                 testing::grouped_convolution, 4},
                                           Known{"operator_1", testing::syno_operator_1},
                                           Known{"operator_2", testing::syno_operator_2}),
                         [](const auto& parameter) { return parameter.param.name; });

Tensor random_tensor(Shape shape, uint64_t seed) {
  Tensor tensor(ElementType::Float32, std::move(shape));
  Random random(seed);
  for (float& value : tensor.data<float>()) value = static_cast<float>(random.uniform(-1, 1));
  return tensor;
}

substitute::SizeValues numbers(const expression::Binding& binding) {
  substitute::SizeValues values;
  for (const auto& [name, value] : binding) values.insert_or_assign(name, expression::Index(value));
  return values;
}

/// y of an operator for x [2, 8, 5, 4] and C_out = 8, g = 2, s = 2, k = 3.
class Computed {
 public:
  explicit Computed(FoundOperator (*script)(testing::Script&)) {
    Problem problem = resnet18();
    const std::map<std::string, int64_t> small = {{"C_in", 8}, {"C_out", 8}, {"H", 5}, {"W", 4},
                                                  {"k", 3},    {"s", 2},     {"g", 2}};
    for (Variable& variable : problem.variables) variable.values = {small.at(variable.name)};
    Limits limits = Limits::resnet18();
    limits.least_weight = 1;
    limits.unfold_ratio = 1;
    Space space(problem, limits);
    testing::Script steps(space);
    const FoundOperator found = script(steps);
    const expression::Binding binding = {{"N", 2}, {"C_in", 8}, {"C_out", 8}, {"H", 5}, {"W", 4}};
    program = substitute::lower(found.graph, numbers(binding), {});
    tensors["x"] = random_tensor({2, 8, 5, 4}, 1);
    for (const auto& weight : program.weights) {
      Shape shape;
      for (const auto& extent : weight.shape) shape.push_back(extent.value());
      tensors[weight.name] = random_tensor(shape, 2 + tensors.size());
    }
    y = expression::interpret(program, tensors).at("y");
  }

  float x(int64_t n, int64_t c, int64_t h, int64_t w) const {
    if (h < 0 || h >= 5 || w < 0 || w >= 4) return 0;
    return tensors.at("x").data<float>()[static_cast<size_t>(((n * 8 + c) * 5 + h) * 4 + w)];
  }

  expression::Program program;
  Tensors tensors;
  Tensor y;
};

/// The convolution's weight, whatever the order of its dimensions: found by what each reads.
TEST(KnownOperator, ConvolutionConvolves) {
  const Computed run(testing::convolution);
  // Its weight's dimensions come in the order of the coordinates: o, then the reductions.
  const auto weight = run.tensors.at("w1").data<float>();
  Tensor expected(ElementType::Float32, {2, 8, 5, 4});
  auto out = expected.data<float>();
  size_t at = 0;
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t o = 0; o < 8; ++o)
      for (int64_t h = 0; h < 5; ++h)
        for (int64_t w = 0; w < 4; ++w) {
          double sum = 0;
          for (int64_t c = 0; c < 8; ++c)
            for (int64_t a = 0; a < 3; ++a)
              for (int64_t b = 0; b < 3; ++b)
                sum += static_cast<double>(run.x(n, c, h + a - 1, w + b - 1)) *
                       weight[static_cast<size_t>(((o * 8 + c) * 3 + a) * 3 + b)];
          out[at++] = static_cast<float>(sum);
        }
  EXPECT_LT(relative_error(run.y, expected), 1e-5);
}

// The published layer: C = 64, 56 x 56, k = 3, g = 32, s = 2, at batch 128.
TEST(KnownOperator, OperatorTwoCostsWhatIsPublished) {
  Space space(
      problem_for({resnet18_layers()[0], resnet18_layers()[1]}, {{"k", 3}, {"s", 2}, {"g", 32}}),
      Limits::resnet18());
  testing::Script both(space);
  testing::syno_operator_2(both);
  ASSERT_EQ(both.refused, "");
  const double together = operator_cost(space, both.state, matches(space, both.state)[0]).macs;
  // The second layer alone, by its formula: 28 x 28, C = 128, C/g = 4, C/(g*s) = 2.
  const double second = 28.0 * 28 * (32.0 * 2 * 4 * 3 + 128.0 * 32 * 3 * 2);
  EXPECT_EQ((together - second) * 128, 2543321088.0);
}

}  // namespace
}  // namespace opsmith::synthesis
