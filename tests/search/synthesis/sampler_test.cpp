#include "search/synthesis/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "runtime/expression/factoring.h"
#include "runtime/expression/interpreter.h"
#include "support/random.h"

namespace opsmith::synthesis {
namespace {

/// One layer small enough for the interpreter.
Problem small_problem() {
  substitute::LayerShape layer;
  layer.input_channels = layer.output_channels = 16;
  layer.height = layer.width = 8;
  layer.kernel_height = layer.kernel_width = 3;
  layer.padding_top = layer.padding_left = layer.padding_bottom = layer.padding_right = 1;
  return problem_for({layer}, {{"k", 3}, {"s", 2}, {"g", 4}});
}

Limits small_limits() {
  Limits limits = Limits::resnet18();
  limits.least_weight = 8;
  limits.reduction_multiplier = 0.25;
  limits.least_macs = 0.02;
  return limits;
}

SamplingResult sample_small(int64_t operators, int threads = 1) {
  SamplingOptions options;
  options.operators = operators;
  options.seconds = 20;
  options.threads = threads;
  options.seed = 5;
  return sample(small_problem(), small_limits(), options);
}

substitute::SizeValues sizes() {
  substitute::SizeValues values;
  for (const auto& [name, value] : expression::Binding{
           {"N", 1}, {"C_in", 16}, {"C_out", 16}, {"H", 8}, {"W", 8}, {"k", 3}, {"s", 2}, {"g", 4}})
    values.insert_or_assign(name, expression::Index(value));
  return values;
}

expression::Tensors random_tensors(const expression::Program& program) {
  Random random(3);
  expression::Tensors tensors;
  for (const auto* declarations : {&program.inputs, &program.weights})
    for (const expression::TensorDeclaration& declaration : *declarations) {
      Shape shape;
      for (const expression::Index& extent : declaration.shape) shape.push_back(extent.value());
      Tensor tensor(ElementType::Float32, shape);
      for (float& value : tensor.data<float>()) value = static_cast<float>(random.uniform(-1, 1));
      tensors[declaration.name] = tensor;
    }
  return tensors;
}

TEST(SamplerTest, OperatorsAreDistinctWithinLimitsAndSurviveTheirText) {
  const Limits limits = small_limits();
  const SamplingResult result = sample_small(30);
  ASSERT_GE(result.samples.size(), 30u);
  std::set<uint64_t> hashes;
  std::set<std::string> formulas;
  for (const Sample& sample : result.samples) {
    EXPECT_TRUE(hashes.insert(sample.found.hash).second);
    EXPECT_TRUE(formulas.insert(formula(sample.found.graph)).second) << formula(sample.found.graph);
    EXPECT_LE(sample.found.primitives, limits.depth);
    const double share = sample.cost.macs / small_problem().original_macs;
    EXPECT_GE(share, limits.least_macs);
    EXPECT_LE(share, limits.most_macs);
    const std::string text = substitute::print(sample.found.graph);
    EXPECT_EQ(substitute::parse_operator(text), sample.found.graph) << text;
  }
}

TEST(SamplerTest, OperatorsComputeAndCostWhatTheirProgramsDo) {
  for (const Sample& sample : sample_small(15).samples) {
    const expression::Program program = substitute::lower(sample.found.graph, sizes(), {});
    expression::validate(program);
    EXPECT_EQ(static_cast<double>(expression::parameter_count(program)), sample.cost.parameters);
    // The factoring of the whole sum as one stage, which cuts at whole indices only, cannot be
    // cheaper.
    expression::Program whole = program;
    whole.stages = {substitute::lower(
        std::get<substitute::Region>(sample.found.graph.nodes[0].operation), "y", sizes())};
    const auto factoring = expression::factor(whole, whole.stages[0]);
    EXPECT_LE(sample.cost.macs, static_cast<double>(factoring.multiply_accumulates))
        << formula(sample.found.graph);
    const expression::Tensors tensors = random_tensors(program);
    const Tensor y = expression::interpret(program, tensors).at("y");
    EXPECT_EQ(y.shape(), (Shape{1, 16, 8, 8}));
    double largest = 0;
    for (const float value : y.data<float>()) {
      EXPECT_TRUE(std::isfinite(value));
      largest = std::max(largest, std::fabs(static_cast<double>(value)));
    }
    EXPECT_GT(largest, 0) << formula(sample.found.graph);
  }
}

TEST(SamplerTest, EveryTrialEndsSomehow) {
  const SamplingResult result = sample_small(8, 2);
  EXPECT_GE(result.samples.size(), 8u);
  // A trial can find several operators: one for each way to match the input.
  const int64_t fruitless = result.dead_ends + result.over_limits + result.repeated;
  EXPECT_LT(fruitless, result.trials);
  EXPECT_LE(result.trials, fruitless + static_cast<int64_t>(result.samples.size()));
}

TEST(SamplerTest, OneThreadAndSeedFindTheSame) {
  const SamplingResult first = sample_small(4), second = sample_small(4);
  ASSERT_EQ(first.samples.size(), second.samples.size());
  for (size_t i = 0; i < first.samples.size(); ++i)
    EXPECT_EQ(first.samples[i].found.graph, second.samples[i].found.graph);
}

}  // namespace
}  // namespace opsmith::synthesis
