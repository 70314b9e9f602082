#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "substitute/refit/linear_form.h"
#include "substitute/refit/moments.h"

namespace opsmith::substitute {

/// The linear map of a layer: kernel [outputs x patch size] over a window, and a bias.
struct LinearMap {
  Window window;
  int64_t outputs = 0;
  int64_t patch_size = 0;
  std::vector<float> kernel;
  std::vector<float> bias;
};

/// min over K, b of E |K x + b - y|^2 + ridge |K - K0|^2 for a layer, with K limited to what an
/// operator can express. The covariance of x is factored once for all operators:
/// C + ridge = L L'. Then the cost of K is |K L - T|^2 + rest, where T is the image of the best
/// unrestricted kernel and the columns of L play the part of calibration patches.
class FitProblem {
 public:
  /// `original` is the layer's own map (K0) over the same window. `ridge` is relative to the mean
  /// variance of a patch element.
  FitProblem(const Moments& moments, const LinearMap& original, double ridge = 1e-4);

  int64_t patch_size() const { return original_.patch_size; }
  int64_t outputs() const { return original_.outputs; }
  const Window& window() const { return original_.window; }
  const std::vector<float>& samples() const { return samples_; }  ///< L, [patch size x patch size]
  const std::vector<float>& targets() const { return targets_; }  ///< T, [outputs x patch size]
  const std::vector<float>& best_kernel() const { return best_kernel_; }  ///< T / L
  /// The inverse of the covariance with its ridge, [patch size x patch size].
  const std::vector<float>& precision() const { return precision_; }

  /// Relative L2 error of the layer's output, sqrt(E|Kx + b - y|^2 / E|y|^2), for a kernel with
  /// `residual` = |K L - T|^2.
  double relative_error(const std::vector<float>& kernel, double residual) const;
  /// The bias that makes the mean error zero.
  std::vector<float> bias(const std::vector<float>& kernel) const;

 private:
  LinearMap original_;
  double ridge_ = 0;
  double rest_ = 0;   ///< cost of the best kernel
  double power_ = 0;  ///< E|y|^2
  std::vector<double> patch_mean_, target_mean_;
  std::vector<float> samples_, targets_, best_kernel_, precision_;
};

/// The best map that is not limited to any operator: what the layer itself should compute.
LinearMap best_map(const FitProblem& problem);

struct FitOptions {
  int sweeps = 8;           ///< over all weights, at most
  double tolerance = 2e-3;  ///< a sweep that lowers the cost by a smaller share is the last
  int iterations = 30;      ///< of conjugate gradients for one weight, at most
  uint64_t seed = 1;
};

/// Weights of an operator that was fitted to a layer.
struct Fit {
  std::vector<Tensor> weights;  ///< in the order of LinearForm::weights
  LinearMap map;                ///< what the operator with these weights and this bias computes
  double relative_error = 0;    ///< on the patches that were fitted
};

/// Alternating least squares: each weight tensor in turn is solved for, all others fixed, by
/// preconditioned conjugate gradients. Starts from `initial` if given, else from the factors of
/// the best unrestricted kernel. Deterministic. The form must read inside the problem's window.
Fit fit(const LinearForm& form, const FitProblem& problem, const FitOptions& options = {},
        const std::vector<Tensor>* initial = nullptr);

/// What the operator computes with given weights (bias zero).
LinearMap linear_map(const LinearForm& form, const std::vector<Tensor>& weights,
                     const Window& window, int64_t channels);

}  // namespace opsmith::substitute
