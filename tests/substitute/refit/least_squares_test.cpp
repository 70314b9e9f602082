#include "substitute/refit/least_squares.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "substitute/refit/matrix_product.h"
#include "support/error.h"
#include "tests/substitute/refit/programs.h"

namespace opsmith::substitute {
namespace {

std::vector<Tensor> random_weights(const LinearForm& form, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Tensor> weights;
  for (const WeightSpan& span : form.weights) {
    Tensor tensor(ElementType::Float32, span.shape);
    for (float& value : tensor.data<float>()) value = normal(random);
    weights.push_back(tensor);
  }
  return weights;
}

/// Moments of correlated random patches and of what `map` (with a bias) makes of them.
Moments random_moments(const LinearMap& map, int64_t count, uint64_t seed, float noise = 0) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> patches(static_cast<size_t>(count * map.patch_size));
  for (int64_t p = 0; p < count; ++p) {
    const float common = normal(random);
    for (int64_t i = 0; i < map.patch_size; ++i) {
      patches[static_cast<size_t>(p * map.patch_size + i)] = 0.3f + common + normal(random);
    }
  }
  std::vector<float> targets(static_cast<size_t>(count * map.outputs));
  multiply(MatrixView::row_major(patches.data(), count, map.patch_size),
           MatrixView::row_major(map.kernel.data(), map.outputs, map.patch_size).transposed(),
           targets.data());
  for (size_t i = 0; i < targets.size(); ++i) {
    targets[i] += map.bias[i % map.bias.size()] + noise * normal(random);
  }
  Moments moments(map.patch_size, map.outputs);
  moments.add(patches.data(), targets.data(), count);
  return moments;
}

struct Case {
  std::string name;
  Program program;
  LayerShape layer;
};

std::vector<Case> exact_cases() {
  std::vector<Case> cases;
  {
    Program p = empty_program(8);
    add_convolution(p, "t", "x", "w1", 8, 12, 3, 3, 4);
    add_convolution(p, "y", "t", "w2", 12, 16, 1, 1);
    cases.push_back({"grouped then pointwise", p, convolution_layer(8, 16)});
  }
  {
    Program p = empty_program(6);
    add_convolution(p, "t", "x", "w1", 6, 6, 3, 3, 6);
    add_convolution(p, "y", "t", "w2", 6, 10, 1, 1);
    cases.push_back({"depthwise then pointwise", p, convolution_layer(6, 10)});
  }
  {
    Program p = empty_program(6);
    add_convolution(p, "t", "x", "w1", 6, 3, 3, 3, 1, 2);
    add_convolution(p, "y", "t", "w2", 3, 8, 1, 1);
    cases.push_back({"bottleneck with stride", p, convolution_layer(6, 8, 3, 2)});
  }
  {
    Program p = empty_program(6);
    add_convolution(p, "t", "x", "w1", 6, 4, 3, 1);
    add_convolution(p, "y", "t", "w2", 4, 8, 1, 3);
    cases.push_back({"separable", p, convolution_layer(6, 8)});
  }
  return cases;
}

TEST(LeastSquares, RecoversALayerOfTheOperatorsOwnForm) {
  for (const Case& c : exact_cases()) {
    SCOPED_TRACE(c.name);
    const LinearForm form = linear_form(c.program, c.layer);
    const Window window = window_of(c.layer);
    LinearMap original = linear_map(form, random_weights(form, 7), window, c.layer.input_channels);
    for (size_t o = 0; o < original.bias.size(); ++o)
      original.bias[o] = 0.5f + static_cast<float>(o);
    const Moments moments = random_moments(original, 2000, 3);
    FitOptions options;
    options.sweeps = 30;
    options.tolerance = 1e-6;
    const Fit fitted = fit(form, FitProblem(moments, original), options);
    // Sums are single precision: near an error of 1e-4 a sweep gains less than they are rounded by.
    EXPECT_LT(fitted.relative_error, 5e-4);
    double worst = 0;
    for (size_t o = 0; o < original.bias.size(); ++o) {
      worst = std::max(worst, static_cast<double>(std::abs(fitted.map.bias[o] - original.bias[o])));
    }
    EXPECT_LT(worst, 1e-2);
  }
}

TEST(LeastSquares, ErrorIsThatOfThePatches) {
  const LayerShape layer = convolution_layer(8, 16);
  Program program = empty_program(8);
  add_convolution(program, "t", "x", "w1", 8, 8, 3, 3, 4);
  add_convolution(program, "y", "t", "w2", 8, 16, 1, 1);
  const LinearForm form = linear_form(program, layer);
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  LinearMap original{window_of(layer), 16, 72, std::vector<float>(16 * 72),
                     std::vector<float>(16, 0.25f)};
  for (float& k : original.kernel) k = normal(random);
  const Moments moments = random_moments(original, 3000, 11, 0.5f);
  const Fit fitted = fit(form, FitProblem(moments, original));
  // The error by its definition, from moments of the same patches.
  const std::vector<double> c = moments.patch_covariance(), x = moments.cross_covariance();
  double cost = 0, power = 0;
  for (size_t o = 0; o < 16; ++o) {
    const double mean = moments.target_mean()[o];
    power += moments.target_variance()[o] + mean * mean;
    cost += moments.target_variance()[o];
    for (size_t i = 0; i < 72; ++i) {
      const double k = fitted.map.kernel[o * 72 + i];
      cost -= 2 * k * x[o * 72 + i];
      for (size_t j = 0; j < 72; ++j) cost += k * c[i * 72 + j] * fitted.map.kernel[o * 72 + j];
    }
  }
  EXPECT_NEAR(fitted.relative_error, std::sqrt(cost / power), 1e-4);
  EXPECT_GT(fitted.relative_error, 0.1);
}

/// The bottleneck's optimum is known in closed form: nothing that least squares finds from a
/// random start may be better, and the start from the factors must reach it.
TEST(LeastSquares, BottleneckReachesTheClosedFormOptimum) {
  const LayerShape layer = convolution_layer(6, 12);
  Program program = empty_program(6);
  add_convolution(program, "t", "x", "w1", 6, 4, 3, 3);
  add_convolution(program, "y", "t", "w2", 4, 12, 1, 1);
  const LinearForm form = linear_form(program, layer);
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  LinearMap original{window_of(layer), 12, 54, std::vector<float>(12 * 54), std::vector<float>(12)};
  for (float& k : original.kernel) k = normal(random);
  const FitProblem problem(random_moments(original, 3000, 1), original);
  const double best = fit(form, problem).relative_error;
  FitOptions patient;
  patient.sweeps = 200;
  patient.tolerance = 1e-7;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const std::vector<Tensor> start = random_weights(form, seed);
    const double found = fit(form, problem, patient, &start).relative_error;
    EXPECT_GE(found, best - 1e-5);
  }
}

TEST(LeastSquares, IsDeterministic) {
  const Case c = exact_cases().front();
  const LinearForm form = linear_form(c.program, c.layer);
  LinearMap original = linear_map(form, random_weights(form, 7), window_of(c.layer), 8);
  const FitProblem problem(random_moments(original, 500, 3, 1.0f), original);
  const Fit a = fit(form, problem), b = fit(form, problem);
  for (size_t i = 0; i < a.weights.size(); ++i) EXPECT_TRUE(identical(a.weights[i], b.weights[i]));
}

TEST(LinearForm, TracesWindowAndBlocks) {
  Program program = empty_program(8);
  add_convolution(program, "t", "x", "w1", 8, 12, 3, 1, 4);
  add_convolution(program, "y", "t", "w2", 12, 5, 1, 3);
  const LinearForm form = linear_form(program, convolution_layer(8, 5));
  EXPECT_EQ(form.window(), (Window{-1, 2, -1, 2}));
  EXPECT_EQ(form.inputs.size(), 72u);
  EXPECT_EQ(form.outputs.size(), 5u);
  EXPECT_EQ(form.blocks.size(), 3u * 4u + 1u);  // three taps of four groups, then one product
}

TEST(LinearForm, RefusesWhatIsNotLinear) {
  Program program = empty_program(4);
  add_convolution(program, "y", "x", "w1", 4, 4, 3, 3);
  Program squared = program;
  squared.stages[0].body = squared.stages[0].body * squared.stages[0].body;
  EXPECT_THROW(linear_form(squared, convolution_layer(4, 4)), Unsupported);
  Program relu = program;
  relu.stages[0].epilogue = maximum(Scalar::reduced(), Scalar::constant(0));
  EXPECT_THROW(linear_form(relu, convolution_layer(4, 4)), Unsupported);
}

TEST(LinearForm, RefusesWhatDiffersBetweenPositions) {
  Program program = empty_program(4);
  add_convolution(program, "y", "x", "w1", 4, 4, 3, 3);
  Stage& stage = program.stages[0];
  const Index h = Index::iterator("h");
  stage.body = Scalar::read("x", {Index::iterator("n"), Index::iterator("c"),
                                  floor_div(h, 2) * Index(2), Index::iterator("w")}) *
               Scalar::read("w1", {Index::iterator("o"), Index::iterator("c"), Index::iterator("a"),
                                   Index::iterator("b")});
  EXPECT_THROW(linear_form(program, convolution_layer(4, 4)), Unsupported);
}

}  // namespace
}  // namespace opsmith::substitute
