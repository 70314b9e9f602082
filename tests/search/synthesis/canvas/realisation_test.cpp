#include "search/synthesis/canvas/realisation.h"

#include <gtest/gtest.h>

#include "search/synthesis/canvas/sampler.h"
#include "tests/search/synthesis/canvas/evaluate.h"
#include "tests/search/synthesis/canvas/layers.h"

namespace opsmith::synthesis::canvas {
namespace {

std::vector<double> numbers(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

Tensor random_tensor(const Shape& shape, Random& random) {
  Tensor tensor(ElementType::Float32, shape);
  for (float& value : tensor.data<float>()) value = static_cast<float>(random.uniform(-1, 1));
  return tensor;
}

/// Part `copy` of `count` of a list.
std::vector<double> part(const std::vector<double>& all, int64_t copy, int64_t count) {
  const auto length = static_cast<std::ptrdiff_t>(all.size()) / count;
  return {all.begin() + copy * length, all.begin() + (copy + 1) * length};
}

/// The layer's output by plain loops: its kernels joined or added (Canvas, figure 2).
std::vector<double> expected(const Sample& sample, const Targets& targets, size_t layer,
                             const std::vector<double>& x,
                             const std::vector<std::vector<double>>& weights) {
  const Target& target = targets.layers()[layer];
  const testing::Evaluation evaluate(sample.kernel, targets, sample.solution, layer);
  const Composition composition = composition_for(target.layer);
  std::vector<double> output;
  for (int64_t copy = 0; copy < target.copies; ++copy) {
    const testing::Array input{evaluate.shape_of(sample.kernel.node(0).shape),
                               composition == Composition::Add ? part(x, copy, target.copies) : x};
    std::vector<std::vector<double>> own;
    for (const auto& weight : weights) own.push_back(part(weight, copy, target.copies));
    const std::vector<double> made = evaluate(input, own).values;
    if (composition == Composition::Add && copy > 0)
      for (size_t i = 0; i < made.size(); ++i) output[i] += made[i];
    else
      output.insert(output.end(), made.begin(), made.end());
  }
  return output;
}

TEST(CanvasRealisation, AgreesWithPlainLoopsForEachComposition) {
  SamplingOptions options;
  options.kernels = 60;
  options.seed = 3;
  const auto layers = testing::small_layers();
  const SamplingResult result = sample(layers, testing::small_limits(), options);
  Random random(9);
  for (const Sample& sample : result.samples) {
    SCOPED_TRACE(formula(sample.kernel));
    const Targets targets(layers, sample.groups);
    double macs = 0, parameters = 0;
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      const substitute::Candidate made = candidate(sample.kernel, targets, sample.solution, layer);
      EXPECT_EQ(print(substitute::parse_operator(made.text)), made.text);
      const substitute::LayerShape& shape = layers[layer];
      macs += static_cast<double>(made.macs(shape));
      parameters += static_cast<double>(made.parameters());
      const expression::Binding sizes = {{"N", 1}, {"H", shape.height}, {"W", shape.width}};
      expression::Tensors tensors;
      tensors["x"] = random_tensor({1, shape.input_channels, shape.height, shape.width}, random);
      std::vector<std::vector<double>> weights;
      for (const auto& weight : expression::instantiate(made.program, sizes).weights) {
        Shape extents;
        for (const expression::Index& extent : weight.shape) extents.push_back(extent.value());
        tensors[weight.name] = random_tensor(extents, random);
        weights.push_back(numbers(tensors[weight.name]));
      }
      const Tensor y = expression::interpret(made.program, tensors, sizes).at("y");
      EXPECT_EQ(y.shape(), (Shape{1, shape.output_channels, shape.height, shape.width}));
      const std::vector<double> computed = numbers(y);
      const std::vector<double> wanted =
          expected(sample, targets, layer, numbers(tensors["x"]), weights);
      ASSERT_EQ(computed.size(), wanted.size());
      double largest = 0, difference = 0;
      for (size_t i = 0; i < wanted.size(); ++i) {
        largest = std::max(largest, std::fabs(wanted[i]));
        difference = std::max(difference, std::fabs(wanted[i] - computed[i]));
      }
      EXPECT_LE(difference, 1e-4 * largest) << made.text;
    }
    EXPECT_EQ(macs, sample.solution.macs);
    EXPECT_EQ(parameters, sample.solution.parameters);
  }
}

}  // namespace
}  // namespace opsmith::synthesis::canvas
