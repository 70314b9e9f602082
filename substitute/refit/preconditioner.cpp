#include "substitute/refit/preconditioner.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>

#include "substitute/refit/matrix_product.h"

namespace opsmith::substitute {

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

FloatMatrix gram(const Rows& rows) {
  FloatMatrix result(rows.count, rows.count);
  const MatrixView view = MatrixView::row_major(rows.data.data(), rows.count, rows.columns);
  multiply(view, view.transposed(), result.data());
  return result;
}

std::vector<float> damped_inverse(Matrix matrix) {
  const int64_t n = matrix.rows();
  matrix.diagonal().array() += 1e-6 * matrix.trace() / static_cast<double>(n) + 1e-20;
  const Matrix inverse = Eigen::LLT<Matrix>(matrix).solve(Matrix::Identity(n, n));
  std::vector<float> result(static_cast<size_t>(n * n));
  Eigen::Map<FloatMatrix>(result.data(), n, n) = inverse.cast<float>();
  return result;
}

double squared_norm(const Rows& rows, int64_t i) {
  double sum = 0;
  for (int64_t j = 0; j < rows.columns; ++j) {
    sum += static_cast<double>(rows.row(i)[j]) * rows.row(i)[j];
  }
  return sum;
}

}  // namespace

Preconditioner::Preconditioner(const Chain& chain, const WeightUse& use,
                               const std::vector<float>& weights, const std::vector<Rows>& sources,
                               const std::vector<Rows>& sensitivities,
                               const std::vector<float>* input_precision) {
  const auto reads_all_inputs = [&](const std::vector<int32_t>& columns) {
    if (columns.size() != chain.form().inputs.size()) return false;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (columns[c] != static_cast<int32_t>(c)) return false;
    }
    return true;
  };
  const auto position = [&](size_t block) {
    return static_cast<size_t>(std::lower_bound(use.blocks.begin(), use.blocks.end(), block) -
                               use.blocks.begin());
  };
  if (use.matrices) {
    for (const TiedBlocks& tie : use.ties) {
      const LinearBlock& first = chain.form().blocks[tie.blocks.front()];
      MatrixInverse inverse;
      inverse.elements = first.factors.front();
      inverse.rows = static_cast<int64_t>(first.rows.size());
      inverse.columns = static_cast<int64_t>(first.columns.size());
      Matrix left = Matrix::Zero(inverse.rows, inverse.rows);
      Matrix right = Matrix::Zero(inverse.columns, inverse.columns);
      const bool known = input_precision != nullptr && reads_all_inputs(first.columns);
      for (const size_t block : tie.blocks) {
        left += gram(sensitivities[position(block)]).cast<double>();
        if (!known) right += gram(sources[position(block)]).cast<double>();
      }
      right /= static_cast<double>(tie.blocks.size());
      inverse.left = damped_inverse(std::move(left));
      inverse.right = known ? *input_precision : damped_inverse(std::move(right));
      matrices_.push_back(std::move(inverse));
    }
    return;
  }
  // Diagonal: |sensitivity|^2 |source|^2 of every entry that an element takes part in.
  std::vector<double> diagonal(weights.size());
  for (size_t i = 0; i < use.blocks.size(); ++i) {
    const LinearBlock& block = chain.form().blocks[use.blocks[i]];
    std::vector<float> part(block.rows.size() * block.columns.size());
    std::vector<double> source_norms;
    for (size_t c = 0; c < block.columns.size(); ++c) {
      source_norms.push_back(squared_norm(sources[i], static_cast<int64_t>(c)));
    }
    for (size_t r = 0; r < block.rows.size(); ++r) {
      const double norm = squared_norm(sensitivities[i], static_cast<int64_t>(r));
      for (size_t c = 0; c < block.columns.size(); ++c) {
        part[r * block.columns.size() + c] = static_cast<float>(norm * source_norms[c]);
      }
    }
    chain.add_squared_gradient(block, weights, use.weight, part, diagonal);
  }
  diagonal_.assign(weights.size(), 0.0f);
  double largest = 0;
  for (const double d : diagonal) largest = std::max(largest, d);
  const WeightSpan& span = chain.form().weights[static_cast<size_t>(use.weight)];
  for (int64_t e = span.begin; e < span.begin + span.count; ++e) {
    diagonal_[static_cast<size_t>(e)] =
        static_cast<float>(1 / (diagonal[static_cast<size_t>(e)] + 1e-6 * largest + 1e-20));
  }
}

std::vector<float> Preconditioner::apply(const std::vector<float>& gradient) const {
  std::vector<float> result(gradient.size());
  if (!diagonal_.empty()) {
    for (size_t i = 0; i < gradient.size(); ++i) result[i] = gradient[i] * diagonal_[i];
    return result;
  }
  for (const MatrixInverse& m : matrices_) {
    std::vector<float> part(m.elements.size()), product(m.elements.size());
    for (size_t i = 0; i < m.elements.size(); ++i) {
      part[i] = gradient[static_cast<size_t>(m.elements[i])];
    }
    multiply(MatrixView::row_major(m.left.data(), m.rows, m.rows),
             MatrixView::row_major(part.data(), m.rows, m.columns), product.data());
    multiply(MatrixView::row_major(product.data(), m.rows, m.columns),
             MatrixView::row_major(m.right.data(), m.columns, m.columns), part.data());
    for (size_t i = 0; i < m.elements.size(); ++i) {
      result[static_cast<size_t>(m.elements[i])] = part[i];
    }
  }
  return result;
}

}  // namespace opsmith::substitute
