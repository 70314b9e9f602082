#include "substitute/rewriting/rewrite.h"

#include <gtest/gtest.h>

#include "runtime/executor/reference.h"
#include "substitute/refit/least_squares.h"
#include "tests/substitute/targets/models.h"

namespace opsmith::substitute {
namespace {

/// Puts a candidate with random weights at a target, and beside it the same map as the layer's own
/// weights: both networks must agree.
void expect_same_meaning(const std::string& node, const std::string& family) {
  SCOPED_TRACE(node + " as " + family);
  const graph::Model model = small_network();
  for (const Target& target : find_targets(model)) {
    if (target.name != node) continue;
    for (const Candidate& candidate : catalogue(target.shape)) {
      if (candidate.name.rfind(family, 0) != 0) continue;
      const LinearForm form = linear_form(candidate.program, target.shape);
      std::vector<Tensor> weights;
      for (const WeightSpan& span : form.weights) {
        weights.push_back(random_tensor(span.shape, weights.size() + 1));
      }
      LinearMap map =
          linear_map(form, weights, window_of(target.shape), target.shape.input_channels);
      const Tensor bias = random_tensor({map.outputs}, 9);
      map.bias.assign(bias.data<float>().begin(), bias.data<float>().end());

      graph::Model replaced = model, expected = model;
      replace_target(replaced, target, candidate, weights, bias);
      ASSERT_TRUE(set_map(expected.graph, target, map));
      const std::map<std::string, Tensor> inputs = {{"x", random_tensor({2, 1, 12, 12}, 7, 1)}};
      const Tensor a = executor::run_reference(replaced, inputs).at("scores");
      const Tensor b = executor::run_reference(expected, inputs).at("scores");
      EXPECT_LT(relative_error(a, b), 1e-4);
      EXPECT_EQ(replaced.opsets.at("opsmith"), 1);
      EXPECT_GE(replaced.ir_version, 8);
      return;
    }
  }
  FAIL() << "no such candidate";
}

TEST(Rewriting, KeepsTheMeaningOfAConvolution) {
  for (const char* family : {"grouped-then-pointwise", "bottleneck-then-pointwise",
                             "depthwise-then-pointwise", "spatially-separable"}) {
    expect_same_meaning("conv", family);
  }
}

TEST(Rewriting, KeepsTheMeaningOfAProduct) { expect_same_meaning("product", "low-rank-product"); }

TEST(Rewriting, EqualBodiesShareAFunction) {
  graph::Model model = small_network();
  const std::vector<Target> targets = find_targets(model);
  const Target& target = targets[2];
  ASSERT_EQ(target.name, "conv");
  const std::vector<Candidate> candidates = catalogue(target.shape);
  const auto replace = [&](const Candidate& candidate) {
    std::vector<Tensor> weights;
    for (const WeightSpan& span : linear_form(candidate.program, target.shape).weights) {
      weights.push_back(random_tensor(span.shape, 1));
    }
    replace_target(model, target, candidate, weights, random_tensor({16}, 2));
  };
  replace(candidates.front());
  replace(candidates.front());
  EXPECT_EQ(model.functions.size(), 1u);
  replace(candidates.back());
  EXPECT_EQ(model.functions.size(), 2u);
}

}  // namespace
}  // namespace opsmith::substitute
