#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "substitute/refit/chain.h"
#include "substitute/refit/matrix_product.h"
#include "substitute/refit/moments.h"
#include "substitute/refit/preconditioner.h"
#include "substitute/refit/weight_use.h"
#include "support/random.h"
#include "tests/substitute/refit/programs.h"

// The parts of least squares, each against a plain computation in double.

namespace opsmith::substitute {
namespace {

std::vector<float> random_floats(Random& random, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
  return values;
}

TEST(MatrixView, ProductsOfAnyShapeAndStride) {
  Random random(1);
  for (int i = 0; i < 150; ++i) {
    const auto size = [&] {
      return random.integer(0, 6) == 0 ? random.integer(0, 2) : random.integer(1, 70);
    };
    const int64_t rows = size(), depth = size(), columns = size();
    const bool accumulate = random.integer(0, 1) == 1, upper = random.integer(0, 2) == 0;
    // Views into larger memory, now and then transposed.
    const auto view = [&](std::vector<float>& memory, int64_t r, int64_t c) {
      const bool transposed = random.integer(0, 1) == 1;
      if (transposed) std::swap(r, c);
      const int64_t between = random.integer(0, 3);
      memory = random_floats(random, r * (c + between) + 1);
      const MatrixView made{memory.data() + 1, r, c, c + between, 1};
      return transposed ? made.transposed() : made;
    };
    std::vector<float> a_memory, b_memory;
    const MatrixView a = view(a_memory, rows, depth), b = view(b_memory, depth, columns);
    const std::vector<float> before = random_floats(random, rows * columns);
    std::vector<float> result = before;
    multiply(a, b, result.data(), accumulate, upper ? MatrixPart::UpperTriangle : MatrixPart::All);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = upper ? r : 0; c < columns; ++c) {
        double sum = accumulate ? before[static_cast<size_t>(r * columns + c)] : 0;
        for (int64_t d = 0; d < depth; ++d) {
          sum += static_cast<double>(a.data[r * a.row_stride + d * a.column_stride]) *
                 b.data[d * b.row_stride + c * b.column_stride];
        }
        ASSERT_NEAR(result[static_cast<size_t>(r * columns + c)], sum, 1e-4)
            << rows << " x " << depth << " x " << columns << " at " << r << ", " << c;
      }
    }
  }
}

TEST(Moments, AreMeansAndCovariances) {
  Random random(2);
  // In uneven parts across the place where single precision is folded into double.
  constexpr int64_t kCount = 5000;
  constexpr size_t kPatch = 5, kOutputs = 2;
  std::vector<float> x = random_floats(random, kCount * kPatch);
  std::vector<float> y = random_floats(random, kCount * kOutputs);
  for (size_t i = 0; i < kCount; ++i) {
    x[i * kPatch + 1] += x[i * kPatch] + 1;
    y[i * kOutputs] += 2 * x[i * kPatch + 1];
  }
  Moments moments(kPatch, kOutputs);
  for (int64_t begin = 0, part = 1; begin < kCount; begin += part, part = part * 3 + 1) {
    part = std::min(part, kCount - begin);
    moments.add(x.data() + begin * static_cast<int64_t>(kPatch),
                y.data() + begin * static_cast<int64_t>(kOutputs), part);
  }
  EXPECT_EQ(moments.count(), kCount);
  const auto mean = [&](const std::vector<float>& values, size_t columns, size_t c) {
    double sum = 0;
    for (size_t i = 0; i < kCount; ++i) sum += values[i * columns + c];
    return sum / kCount;
  };
  const auto covariance = [&](const std::vector<float>& a, size_t a_columns, size_t i,
                              const std::vector<float>& b, size_t b_columns, size_t j) {
    const double a_mean = mean(a, a_columns, i), b_mean = mean(b, b_columns, j);
    double sum = 0;
    for (size_t p = 0; p < kCount; ++p) {
      sum += (a[p * a_columns + i] - a_mean) * (b[p * b_columns + j] - b_mean);
    }
    return sum / kCount;
  };
  for (size_t i = 0; i < kPatch; ++i) {
    EXPECT_NEAR(moments.patch_mean()[i], mean(x, kPatch, i), 1e-9);
    for (size_t j = 0; j < kPatch; ++j) {
      EXPECT_NEAR(moments.patch_covariance()[i * kPatch + j],
                  covariance(x, kPatch, i, x, kPatch, j), 1e-5);
    }
  }
  for (size_t o = 0; o < kOutputs; ++o) {
    EXPECT_NEAR(moments.target_mean()[o], mean(y, kOutputs, o), 1e-9);
    EXPECT_NEAR(moments.target_variance()[o], covariance(y, kOutputs, o, y, kOutputs, o), 1e-9);
    for (size_t i = 0; i < kPatch; ++i) {
      EXPECT_NEAR(moments.cross_covariance()[o * kPatch + i],
                  covariance(y, kOutputs, o, x, kPatch, i), 1e-5);
    }
  }
}

TEST(Moments, OfNothingAreZero) {
  const Moments moments(3, 2);
  EXPECT_EQ(moments.count(), 0);
  EXPECT_EQ(moments.patch_covariance(), std::vector<double>(9, 0.0));
  EXPECT_EQ(moments.cross_covariance(), std::vector<double>(6, 0.0));
  EXPECT_EQ(moments.target_variance(), std::vector<double>(2, 0.0));
}

TEST(PatchGeometry, PatchesHoldZerosOutsideTheInput) {
  Random random(3);
  Tensor input(ElementType::Float32, {2, 3, 5, 6});
  for (float& value : input.data<float>()) value = static_cast<float>(random.uniform(1, 2));
  const PatchGeometry geometry{{-2, 3, -1, 2}, 2, 3, 3};
  std::vector<Position> positions;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t c = 0; c < 3; ++c) positions.push_back({n, r, c});
    }
  }
  const std::vector<float> patches = gather_patches(input, geometry, positions);
  const int64_t size = geometry.window.patch_size(3);
  ASSERT_EQ(size, 45);
  ASSERT_EQ(patches.size(), positions.size() * 45);
  for (size_t p = 0; p < positions.size(); ++p) {
    for (int64_t c = 0; c < 3; ++c) {
      for (int64_t r = -2; r < 3; ++r) {
        for (int64_t q = -1; q < 2; ++q) {
          const int64_t row = positions[p].row * 2 + r, column = positions[p].column * 2 + q;
          const bool inside = row >= 0 && row < 5 && column >= 0 && column < 6;
          const float expected = inside
                                     ? input.data<float>()[static_cast<size_t>(
                                           ((positions[p].image * 3 + c) * 5 + row) * 6 + column)]
                                     : 0.0F;
          const int64_t place = geometry.window.patch_index({c, r, q});
          ASSERT_EQ(patches[p * 45 + static_cast<size_t>(place)], expected);
        }
      }
    }
  }
  const std::vector<float> outputs = gather_outputs(input, {{1, 4, 2}});
  EXPECT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[2], input.data<float>()[static_cast<size_t>(((3 + 2) * 5 + 4) * 6 + 2)]);
  const Tensor rows = Tensor::of<float>({3, 2}, {0, 1, 10, 11, 20, 21});
  EXPECT_EQ(gather_patches(rows, {}, {{2, 0, 0}, {0, 0, 0}}), (std::vector<float>{20, 21, 0, 1}));
  EXPECT_EQ(gather_outputs(rows, {{1, 0, 0}}), (std::vector<float>{10, 11}));
}

TEST(Window, UnitesToTheSmallestAround) {
  const Window a{-1, 2, 0, 1}, b{0, 4, -3, 0};
  EXPECT_EQ(a.united(b), (Window{-1, 4, -3, 1}));
  EXPECT_EQ(b.united(a), a.united(b));
  EXPECT_EQ(a.united(a), a);
  EXPECT_EQ(a.rows(), 3);
  EXPECT_EQ(window_of(convolution_layer(4, 8, 5)), (Window{-2, 3, -2, 3}));
}

/// Inputs 0..3, then values 4..8 made by blocks, then outputs; entries are products of elements of
/// up to two tensors, some of them absent.
LinearForm random_form(Random& random) {
  LinearForm form;
  form.weights = {{"u", {7}, 0, 7}, {"v", {5}, 7, 5}};
  form.weight_count = 12;
  for (int64_t i = 0; i < 4; ++i) form.inputs.push_back({i, 0, 0});
  form.values = 12;
  form.outputs = {9, 10, 11};
  const auto some = [&](int32_t begin, int32_t end) {
    std::vector<int32_t> chosen;
    for (int32_t v = begin; v < end; ++v) {
      if (random.integer(0, 3) != 0) chosen.push_back(v);
    }
    if (chosen.empty()) chosen.push_back(begin);
    return chosen;
  };
  const auto block = [&](std::vector<int32_t> rows, std::vector<int32_t> columns) {
    LinearBlock made;
    made.rows = std::move(rows);
    made.columns = std::move(columns);
    const size_t entries = made.rows.size() * made.columns.size();
    for (size_t w = 0; w < 2; ++w) {
      if (random.integer(0, 3) == 0) continue;
      const WeightSpan& span = form.weights[w];
      std::vector<int32_t> factor;
      for (size_t i = 0; i < entries; ++i) {
        const bool absent = random.integer(0, 4) == 0;
        factor.push_back(
            absent ? -1
                   : static_cast<int32_t>(random.integer(span.begin, span.begin + span.count - 1)));
      }
      made.factors.push_back(std::move(factor));
    }
    if (random.integer(0, 1) == 1) {
      made.coefficients = random_floats(random, static_cast<int64_t>(entries));
    }
    form.blocks.push_back(std::move(made));
  };
  block(some(4, 7), some(0, 4));
  block(some(4, 7), some(0, 4));
  block(some(7, 9), some(4, 7));
  block(some(9, 12), some(2, 9));  // inputs and intermediate values at once
  block(some(9, 12), some(7, 9));
  return form;
}

/// One entry of a block, its factors' elements moved by `step` along `direction`.
double entry_of(const LinearBlock& block, size_t i, const std::vector<float>& weights,
                const WeightSpan* varied = nullptr, const std::vector<float>* direction = nullptr,
                double step = 0) {
  double product = block.coefficients.empty() ? 1 : block.coefficients[i];
  for (const auto& factor : block.factors) {
    if (factor[i] < 0) continue;
    const auto e = static_cast<size_t>(factor[i]);
    double weight = weights[e];
    if (varied != nullptr && factor[i] >= varied->begin &&
        factor[i] < varied->begin + varied->count) {
      weight += step * (*direction)[e];
    }
    product *= weight;
  }
  return product;
}

/// Runs the blocks from `first` on.
void run(const LinearForm& form, const std::vector<float>& weights, size_t first,
         std::vector<double>& values) {
  for (size_t b = first; b < form.blocks.size(); ++b) {
    const LinearBlock& block = form.blocks[b];
    const std::vector<double> before = values;
    for (size_t r = 0; r < block.rows.size(); ++r) {
      for (size_t c = 0; c < block.columns.size(); ++c) {
        values[static_cast<size_t>(block.rows[r])] +=
            entry_of(block, r * block.columns.size() + c, weights) *
            before[static_cast<size_t>(block.columns[c])];
      }
    }
  }
}

TEST(Chain, RunsForwardAndBackward) {
  Random random(4);
  for (int i = 0; i < 200; ++i) {
    const LinearForm form = random_form(random);
    const Chain chain(form);
    const std::vector<float> weights = random_floats(random, form.weight_count);
    Rows inputs(4, 3);
    inputs.data = random_floats(random, 12);
    const Rows all = chain.forward(weights, inputs);
    for (int64_t column = 0; column < 3; ++column) {
      std::vector<double> values(12, 0.0);
      for (int64_t v = 0; v < 4; ++v) values[static_cast<size_t>(v)] = inputs.row(v)[column];
      run(form, weights, 0, values);
      for (int64_t v = 0; v < 12; ++v) {
        ASSERT_NEAR(all.row(v)[column], values[static_cast<size_t>(v)], 1e-4);
      }
    }
    for (size_t first = 0; first <= form.blocks.size(); ++first) {
      const Rows sensitivities = chain.sensitivities(weights, first);
      std::set<int32_t> concerned;
      for (size_t b = first; b < form.blocks.size(); ++b) {
        concerned.insert(form.blocks[b].rows.begin(), form.blocks[b].rows.end());
        concerned.insert(form.blocks[b].columns.begin(), form.blocks[b].columns.end());
      }
      for (const int32_t v : concerned) {
        if (v < 4) continue;
        std::vector<double> values(12, 0.0);
        values[static_cast<size_t>(v)] = 1;
        run(form, weights, first, values);
        for (size_t o = 0; o < 3; ++o) {
          ASSERT_NEAR(sensitivities.row(v)[o], values[static_cast<size_t>(form.outputs[o])], 1e-4)
              << "value " << v << " from block " << first;
        }
      }
    }
  }
}

TEST(Chain, DifferentiatesBlocks) {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const LinearForm form = random_form(random);
    const Chain chain(form);
    const std::vector<float> weights = random_floats(random, form.weight_count);
    const std::vector<float> direction = random_floats(random, form.weight_count);
    for (const LinearBlock& block : form.blocks) {
      const size_t entries = block.rows.size() * block.columns.size();
      const std::vector<float> matrix = chain.block_matrix(block, weights);
      const std::vector<float> part = random_floats(random, static_cast<int64_t>(entries));
      for (int varied = 0; varied < 2; ++varied) {
        const WeightSpan& span = form.weights[static_cast<size_t>(varied)];
        const auto along = [&](const std::vector<float>& way, size_t entry) {
          // Each entry is linear in each tensor: the difference is the derivative.
          return entry_of(block, entry, weights, &span, &way, 1) - entry_of(block, entry, weights);
        };
        const std::vector<float> derivative =
            chain.block_matrix(block, weights, varied, &direction);
        std::vector<float> gradient(12, 0.5F);
        chain.add_gradient(block, weights, varied, part, gradient);
        std::vector<double> squared(12, 0.5);
        chain.add_squared_gradient(block, weights, varied, part, squared);
        std::vector<double> expected(12, 0.5), expected_squared(12, 0.5);
        bool used = false;
        for (size_t entry = 0; entry < entries; ++entry) {
          ASSERT_NEAR(matrix[entry], entry_of(block, entry, weights), 1e-5);
          ASSERT_NEAR(derivative[entry], along(direction, entry), 1e-5);
          for (int64_t e = span.begin; e < span.begin + span.count; ++e) {
            std::vector<float> unit(12, 0.0F);
            unit[static_cast<size_t>(e)] = 1;
            const double slope = along(unit, entry);
            expected[static_cast<size_t>(e)] += slope * part[entry];
            expected_squared[static_cast<size_t>(e)] += slope * slope * part[entry];
          }
          for (const auto& factor : block.factors) {
            used = used || (factor[entry] >= span.begin && factor[entry] < span.begin + span.count);
          }
        }
        EXPECT_EQ(chain.uses(block, varied), used);
        for (size_t e = 0; e < 12; ++e) {
          ASSERT_NEAR(gradient[e], expected[e], 1e-4);
          ASSERT_NEAR(squared[e], expected_squared[e], 1e-4);
        }
      }
    }
  }
}

TEST(WeightUse, OfTwoConvolutions) {
  Program program = empty_program(4);
  add_convolution(program, "hidden", "x", "first", 4, 3, 3, 1);
  add_convolution(program, "y", "hidden", "second", 3, 5, 1, 3);
  const LinearForm form = linear_form(program, convolution_layer(4, 5));
  const Chain chain(form);
  const std::vector<WeightUse> uses = weight_uses(chain);
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(form.weights[static_cast<size_t>(uses[0].weight)].name, "first");
  for (const WeightUse& use : uses) {
    std::vector<size_t> expected;
    for (size_t b = 0; b < form.blocks.size(); ++b) {
      if (chain.uses(form.blocks[b], use.weight)) expected.push_back(b);
    }
    EXPECT_EQ(use.blocks, expected);
    ASSERT_TRUE(use.matrices);
    std::set<int32_t> elements;
    size_t count = 0, blocks = 0;
    for (const TiedBlocks& tie : use.ties) {
      blocks += tie.blocks.size();
      const auto& factor = form.blocks[tie.blocks.front()].factors.at(0);
      for (const size_t b : tie.blocks) EXPECT_EQ(form.blocks[b].factors.at(0), factor);
      elements.insert(factor.begin(), factor.end());
      count += factor.size();
    }
    EXPECT_EQ(blocks, use.blocks.size());
    EXPECT_EQ(elements.size(), count) << "each element in one matrix, once";
    const WeightSpan& span = form.weights[static_cast<size_t>(use.weight)];
    EXPECT_EQ(static_cast<int64_t>(count), span.count);
  }
  // The hidden image is looked at in three places by the second convolution.
  for (const TiedBlocks& tie : uses[0].ties) EXPECT_EQ(tie.blocks.size(), 3U);
}

TEST(LinearForm, IsTheConvolution) {
  Random random(6);
  Program program = empty_program(4);
  add_convolution(program, "y", "x", "w", 4, 6, 3, 3, 2);
  const LinearForm form = linear_form(program, convolution_layer(4, 6));
  EXPECT_EQ(form.window(), (Window{-1, 2, -1, 2}));
  ASSERT_EQ(form.inputs.size(), 36U);
  ASSERT_EQ(form.outputs.size(), 6U);
  EXPECT_TRUE(std::is_sorted(form.inputs.begin(), form.inputs.end()));
  const std::vector<float> weights = random_floats(random, form.weight_count);
  Rows inputs(36, 1);
  inputs.data = random_floats(random, 36);
  const Rows values = Chain(form).forward(weights, inputs);
  for (size_t o = 0; o < 6; ++o) {
    double sum = 0;
    for (size_t i = 0; i < 36; ++i) {
      const InputOffset& at = form.inputs[i];
      if (at.channel / 2 != static_cast<int64_t>(o) / 3) continue;
      const int64_t weight =
          ((static_cast<int64_t>(o) * 2 + at.channel % 2) * 3 + at.row + 1) * 3 + at.column + 1;
      sum += static_cast<double>(weights[static_cast<size_t>(weight)]) * inputs.data[i];
    }
    EXPECT_NEAR(values.row(form.outputs[o])[0], sum, 1e-5);
  }
}

TEST(Preconditioner, SolvesASingleMatrixInOneStep) {
  Random random(7);
  Program program = empty_program(4);
  add_convolution(program, "y", "x", "w", 4, 6, 1, 1);
  const LinearForm form = linear_form(program, convolution_layer(4, 6, 1));
  const Chain chain(form);
  const std::vector<WeightUse> uses = weight_uses(chain);
  ASSERT_EQ(uses.size(), 1U);
  ASSERT_EQ(form.blocks.size(), 1U);
  const std::vector<float> weights = random_floats(random, form.weight_count);
  Rows samples(4, 40);
  samples.data = random_floats(random, 160);
  const Rows sources = gather_rows(samples, form.blocks[0].columns);
  const Rows sensitivities = gather_rows(chain.sensitivities(weights, 0), form.blocks[0].rows);
  const Preconditioner preconditioner(chain, uses[0], weights, {sources}, {sensitivities});
  // The gradient of half the squared error at W, from zero: W times the Gram matrix of the inputs.
  std::vector<float> product(form.blocks[0].factors[0].size());
  const std::vector<float> matrix = chain.block_matrix(form.blocks[0], weights);
  std::vector<float> gram(16);
  const MatrixView x = MatrixView::row_major(sources.data.data(), 4, 40);
  multiply(x, x.transposed(), gram.data());
  multiply(MatrixView::row_major(matrix.data(), 6, 4), MatrixView::row_major(gram.data(), 4, 4),
           product.data());
  std::vector<float> gradient(weights.size());
  chain.add_gradient(form.blocks[0], weights, uses[0].weight, product, gradient);
  const std::vector<float> step = preconditioner.apply(gradient);
  for (size_t e = 0; e < weights.size(); ++e) EXPECT_NEAR(step[e], weights[e], 1e-3);
}

TEST(Preconditioner, OfWhatIsNoMatrixIsTheDiagonal) {
  Random random(8);
  for (int i = 0; i < 50; ++i) {
    const LinearForm form = random_form(random);
    const Chain chain(form);
    const std::vector<float> weights = random_floats(random, form.weight_count);
    for (const WeightUse& use : weight_uses(chain)) {
      if (use.matrices) continue;
      std::vector<Rows> sources, sensitivities;
      std::vector<double> diagonal(12, 0.0);
      for (const size_t b : use.blocks) {
        const LinearBlock& block = form.blocks[b];
        sources.emplace_back(static_cast<int64_t>(block.columns.size()), 5);
        sources.back().data = random_floats(random, static_cast<int64_t>(block.columns.size()) * 5);
        sensitivities.emplace_back(static_cast<int64_t>(block.rows.size()), 3);
        sensitivities.back().data =
            random_floats(random, static_cast<int64_t>(block.rows.size()) * 3);
        const auto norm = [](const Rows& rows, size_t row) {
          double sum = 0;
          for (int64_t j = 0; j < rows.columns; ++j) {
            sum += std::pow(rows.row(static_cast<int64_t>(row))[j], 2.0);
          }
          return sum;
        };
        std::vector<float> part;
        for (size_t r = 0; r < block.rows.size(); ++r) {
          for (size_t c = 0; c < block.columns.size(); ++c) {
            part.push_back(
                static_cast<float>(norm(sensitivities.back(), r) * norm(sources.back(), c)));
          }
        }
        chain.add_squared_gradient(block, weights, use.weight, part, diagonal);
      }
      const Preconditioner preconditioner(chain, use, weights, sources, sensitivities);
      const std::vector<float> result = preconditioner.apply(std::vector<float>(12, 1.0F));
      const WeightSpan& span = form.weights[static_cast<size_t>(use.weight)];
      const double largest = *std::max_element(diagonal.begin(), diagonal.end());
      for (int64_t e = 0; e < 12; ++e) {
        const double entry = diagonal[static_cast<size_t>(e)];
        const float found = result[static_cast<size_t>(e)];
        EXPECT_TRUE(std::isfinite(found));
        if (e < span.begin || e >= span.begin + span.count) {
          EXPECT_EQ(found, 0) << "of another tensor";
        } else if (entry > 1e-3 * largest) {
          EXPECT_NEAR(found * entry, 1, 0.01);
        }
      }
    }
  }
}

}  // namespace
}  // namespace opsmith::substitute
