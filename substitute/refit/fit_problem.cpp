#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "substitute/refit/least_squares.h"
#include "substitute/refit/matrix_product.h"
#include "support/error.h"

namespace opsmith::substitute {

namespace {
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixMap = Eigen::Map<const Matrix>;
using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::vector<float> to_floats(const Matrix& matrix) {
  std::vector<float> result(static_cast<size_t>(matrix.size()));
  Eigen::Map<FloatMatrix>(result.data(), matrix.rows(), matrix.cols()) = matrix.cast<float>();
  return result;
}
}  // namespace

FitProblem::FitProblem(const Moments& moments, const LinearMap& original, double ridge)
    : original_(original), patch_mean_(moments.patch_mean()), target_mean_(moments.target_mean()) {
  const int64_t d = moments.patch_size(), o = moments.outputs();
  require(original.patch_size == d && original.outputs == o,
          "fit problem: the moments do not belong to this layer");
  const std::vector<double> covariance_values = moments.patch_covariance();
  const std::vector<double> cross_values = moments.cross_covariance();
  Matrix covariance = MatrixMap(covariance_values.data(), d, d);
  const Matrix prior = Eigen::Map<const FloatMatrix>(original.kernel.data(), o, d).cast<double>();
  ridge_ = std::max(ridge * covariance.trace() / static_cast<double>(d), 1e-12);

  // A covariance of few patches is singular; rounding can push it below the ridge.
  Eigen::LLT<Matrix> cholesky;
  for (int attempt = 0;; ++attempt) {
    Matrix damped = covariance;
    damped.diagonal().array() += ridge_;
    cholesky.compute(damped);
    if (cholesky.info() == Eigen::Success) break;
    require(attempt < 40, "fit problem: covariance is not finite");
    ridge_ *= 4;
  }
  const Matrix lower = cholesky.matrixL();
  const Matrix right_side = MatrixMap(cross_values.data(), o, d) + ridge_ * prior;
  // T = right_side / L', best kernel = T / L.
  const Matrix targets =
      lower.triangularView<Eigen::Lower>().solve(right_side.transpose()).transpose();
  const Matrix best =
      lower.transpose().triangularView<Eigen::Upper>().solve(targets.transpose()).transpose();
  samples_ = to_floats(lower);
  targets_ = to_floats(targets);
  best_kernel_ = to_floats(best);
  // (L L')^-1 = R' R with R the inverse of L; the product by the fast kernel.
  const Matrix root = lower.triangularView<Eigen::Lower>().solve(Matrix::Identity(d, d));
  const std::vector<float> root_floats = to_floats(root);
  const MatrixView view = MatrixView::row_major(root_floats.data(), d, d);
  precision_.resize(root_floats.size());
  multiply(view.transposed(), view, precision_.data());

  double variance = 0;
  const std::vector<double> variances = moments.target_variance();
  for (size_t i = 0; i < variances.size(); ++i) {
    variance += variances[i];
    power_ += variances[i] + target_mean_[i] * target_mean_[i];
  }
  rest_ = variance + ridge_ * prior.squaredNorm() - targets.squaredNorm();
}

double FitProblem::relative_error(const std::vector<float>& kernel, double residual) const {
  double distance = 0;
  for (size_t i = 0; i < kernel.size(); ++i) {
    const double difference = static_cast<double>(kernel[i]) - original_.kernel[i];
    distance += difference * difference;
  }
  const double cost = std::max(0.0, residual + rest_ - ridge_ * distance);
  return power_ > 0 ? std::sqrt(cost / power_) : 0;
}

std::vector<float> FitProblem::bias(const std::vector<float>& kernel) const {
  std::vector<float> result(target_mean_.size());
  const size_t d = patch_mean_.size();
  for (size_t o = 0; o < result.size(); ++o) {
    double value = target_mean_[o];
    for (size_t i = 0; i < d; ++i) {
      value -= static_cast<double>(kernel[o * d + i]) * patch_mean_[i];
    }
    result[o] = static_cast<float>(value);
  }
  return result;
}

LinearMap best_map(const FitProblem& problem) {
  return {problem.window(), problem.outputs(), problem.patch_size(), problem.best_kernel(),
          problem.bias(problem.best_kernel())};
}

}  // namespace opsmith::substitute
