#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "search/synthesis/canvas/realisation.h"
#include "search/synthesis/canvas/sampler.h"
#include "search/synthesis/sampler.h"
#include "support/error.h"
#include "tests/runtime/compiler/compiled.h"
#include "tests/search/synthesis/canvas/layers.h"
#include "tests/substitute/operator/realisation.h"

namespace opsmith::synthesis {
namespace {

/// How many operators of each space are tried: OPSMITH_RANDOM_OPERATORS=1000 for a long run.
int64_t operator_count() {
  const char* text = std::getenv("OPSMITH_RANDOM_OPERATORS");
  return text == nullptr ? 12 : std::max(1, std::atoi(text));
}

/// The interpreter, the compiled program, the ONNX function's body and the text form agree.
void check(const substitute::Candidate& candidate, const substitute::LayerShape& layer,
           uint64_t seed) {
  SCOPED_TRACE(candidate.text);
  EXPECT_EQ(print(substitute::parse_operator(candidate.text)), candidate.text);
  const expression::Binding sizes = {{"N", 2}, {"H", layer.height}, {"W", layer.width}};
  schedule::KernelSpecification specification;
  specification.target = schedule::detect_target("native", 1);
  specification.program = expression::instantiate(candidate.program, sizes);
  specification.schedule =
      schedule::default_schedule(specification.program, {}, specification.target);
  compiler::testing::expect_like_interpreter(specification, 1e-4, static_cast<unsigned>(seed));

  const auto realised =
      substitute::testing::realise(candidate, layer, sizes, 17, seed, seed % 2 == 0);
  EXPECT_LE(relative_error(realised.function, realised.interpreted), 1e-4);
}

TEST(RandomOperators, OfSynosSpaceAgreeInAllForms) {
  const substitute::LayerShape layer = canvas::testing::convolution(16, 16, 8, 8);
  const Problem problem = problem_for({layer}, {{"k", 3}, {"s", 2}, {"g", 4}});
  Limits limits = Limits::resnet18();
  limits.least_weight = 8;
  limits.reduction_multiplier = 0.25;
  limits.least_macs = 0;
  limits.most_macs = 2;
  SamplingOptions options;
  options.operators = operator_count();
  options.seconds = 300;
  options.seed = 11;
  const SamplingResult result = sample(problem, limits, options);
  ASSERT_GE(static_cast<int64_t>(result.samples.size()), options.operators);
  uint64_t seed = 1;
  for (const Sample& sample : result.samples) {
    substitute::Candidate candidate;
    candidate.name = sample.found.graph.name;
    candidate.formula = formula(sample.found.graph);
    candidate.text = print(sample.found.graph);
    candidate.program = lower(sample.found.graph, layer_values(layer), typical_binding(layer));
    check(candidate, layer, seed++);
  }
}

TEST(RandomOperators, OfCanvassSpaceAgreeInAllForms) {
  const std::vector<substitute::LayerShape> layers = canvas::testing::small_layers();
  canvas::SamplingOptions options;
  options.kernels = operator_count();
  options.seed = 12;
  const auto result = canvas::sample(layers, canvas::testing::small_limits(), options);
  uint64_t seed = 1;
  for (const canvas::Sample& sample : result.samples) {
    const canvas::Targets targets(layers, sample.groups);
    const size_t layer = seed % layers.size();
    check(canvas::candidate(sample.kernel, targets, sample.solution, layer), layers[layer], seed);
    ++seed;
  }
}

}  // namespace
}  // namespace opsmith::synthesis
