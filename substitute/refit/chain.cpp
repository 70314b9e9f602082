#include "substitute/refit/chain.h"

#include <algorithm>

#include "substitute/refit/matrix_product.h"

namespace opsmith::substitute {

namespace {

void scatter_add(const std::vector<float>& part, const std::vector<int32_t>& targets, Rows& rows) {
  for (size_t i = 0; i < targets.size(); ++i) {
    const float* from = part.data() + static_cast<int64_t>(i) * rows.columns;
    float* to = rows.row(targets[i]);
    for (int64_t j = 0; j < rows.columns; ++j) to[j] += from[j];
  }
}

}  // namespace

Rows gather_rows(const Rows& rows, const std::vector<int32_t>& chosen) {
  Rows result(static_cast<int64_t>(chosen.size()), rows.columns);
  for (size_t i = 0; i < chosen.size(); ++i) {
    std::copy_n(rows.row(chosen[i]), rows.columns, result.row(static_cast<int64_t>(i)));
  }
  return result;
}

bool Chain::uses(const LinearBlock& block, int weight) const {
  const WeightSpan& span = form_.weights[static_cast<size_t>(weight)];
  for (const auto& factor : block.factors) {
    for (const int32_t element : factor) {
      if (element >= span.begin && element < span.begin + span.count) return true;
    }
  }
  return false;
}

namespace {

/// Calls visit(entry, element, product of the entry's other factors) for every entry that has an
/// element of the span.
template <typename Visit>
void visit_entries(const LinearBlock& block, const std::vector<float>& weights,
                   const WeightSpan& span, const Visit& visit) {
  const size_t entries = block.rows.size() * block.columns.size();
  for (size_t f = 0; f < block.factors.size(); ++f) {
    for (size_t i = 0; i < entries; ++i) {
      const int32_t element = block.factors[f][i];
      if (element < span.begin || element >= span.begin + span.count) continue;
      float others = block.coefficients.empty() ? 1.0f : block.coefficients[i];
      for (size_t other = 0; other < block.factors.size(); ++other) {
        const int32_t e = block.factors[other][i];
        if (other != f && e >= 0) others *= weights[static_cast<size_t>(e)];
      }
      visit(i, static_cast<size_t>(element), others);
    }
  }
}

}  // namespace

std::vector<float> Chain::block_matrix(const LinearBlock& block, const std::vector<float>& weights,
                                       int varied, const std::vector<float>* direction) const {
  const size_t entries = block.rows.size() * block.columns.size();
  if (varied >= 0) {
    std::vector<float> derivative(entries);
    visit_entries(block, weights, form_.weights[static_cast<size_t>(varied)],
                  [&](size_t entry, size_t element, float others) {
                    derivative[entry] += others * (*direction)[element];
                  });
    return derivative;
  }
  std::vector<float> matrix =
      block.coefficients.empty() ? std::vector<float>(entries, 1.0f) : block.coefficients;
  for (const auto& factor : block.factors) {
    for (size_t i = 0; i < entries; ++i) {
      if (factor[i] >= 0) matrix[i] *= weights[static_cast<size_t>(factor[i])];
    }
  }
  return matrix;
}

void Chain::add_gradient(const LinearBlock& block, const std::vector<float>& weights, int varied,
                         const std::vector<float>& part, std::vector<float>& gradient) const {
  visit_entries(block, weights, form_.weights[static_cast<size_t>(varied)],
                [&](size_t entry, size_t element, float others) {
                  gradient[element] += others * part[entry];
                });
}

void Chain::add_squared_gradient(const LinearBlock& block, const std::vector<float>& weights,
                                 int varied, const std::vector<float>& part,
                                 std::vector<double>& gradient) const {
  visit_entries(block, weights, form_.weights[static_cast<size_t>(varied)],
                [&](size_t entry, size_t element, float others) {
                  gradient[element] += static_cast<double>(others) * others * part[entry];
                });
}

Rows Chain::forward(const std::vector<float>& weights, const Rows& inputs) const {
  Rows values(form_.values, inputs.columns);
  std::copy(inputs.data.begin(), inputs.data.end(), values.data.begin());
  std::vector<float> part;
  for (const LinearBlock& block : form_.blocks) {
    const std::vector<float> matrix = block_matrix(block, weights);
    const Rows sources = gather_rows(values, block.columns);
    const int64_t rows = static_cast<int64_t>(block.rows.size());
    part.resize(static_cast<size_t>(rows * values.columns));
    multiply(MatrixView::row_major(matrix.data(), rows, sources.count),
             MatrixView::row_major(sources.data.data(), sources.count, values.columns),
             part.data());
    scatter_add(part, block.rows, values);
  }
  return values;
}

Rows Chain::sensitivities(const std::vector<float>& weights, size_t first) const {
  const int64_t outputs = static_cast<int64_t>(form_.outputs.size());
  Rows result(form_.values, outputs);
  for (int64_t o = 0; o < outputs; ++o) result.row(form_.outputs[static_cast<size_t>(o)])[o] = 1;
  std::vector<float> part;
  for (size_t b = form_.blocks.size(); b-- > first;) {
    const LinearBlock& block = form_.blocks[b];
    // What only inputs feed needs no sensitivity: no weight lies before it.
    const auto inputs = static_cast<int32_t>(form_.inputs.size());
    if (std::ranges::all_of(block.columns, [&](int32_t column) { return column < inputs; })) {
      continue;
    }
    const std::vector<float> matrix = block_matrix(block, weights);
    const Rows targets = gather_rows(result, block.rows);
    const int64_t columns = static_cast<int64_t>(block.columns.size());
    part.resize(static_cast<size_t>(columns * outputs));
    multiply(MatrixView::row_major(matrix.data(), targets.count, columns).transposed(),
             MatrixView::row_major(targets.data.data(), targets.count, outputs), part.data());
    scatter_add(part, block.columns, result);
  }
  return result;
}

}  // namespace opsmith::substitute
