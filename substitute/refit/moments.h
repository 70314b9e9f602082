#pragma once

#include <cstdint>
#include <vector>

#include "substitute/refit/linear_form.h"

namespace opsmith::substitute {

/// Second moments of a layer: of the patches x that its outputs see, and of those with the values
/// y that it should give. Everything that least squares needs to know about the calibration
/// inputs, in a size that does not depend on their number.
class Moments {
 public:
  Moments(int64_t patch_size, int64_t outputs);

  /// `patches` [count x patch_size] and `targets` [count x outputs], row-major.
  void add(const float* patches, const float* targets, int64_t count);

  int64_t patch_size() const { return patch_size_; }
  int64_t outputs() const { return outputs_; }
  double count() const { return count_; }

  /// Means, and sums of centred products divided by the count.
  std::vector<double> patch_mean() const;
  std::vector<double> target_mean() const;
  std::vector<double> patch_covariance() const;  ///< [patch_size x patch_size]
  std::vector<double> cross_covariance() const;  ///< [outputs x patch_size]
  std::vector<double> target_variance() const;   ///< [outputs]

 private:
  void fold();

  int64_t patch_size_, outputs_;
  double count_ = 0;
  std::vector<double> patch_sum_, target_sum_, target_squares_;
  std::vector<double> gram_;   ///< upper triangle of sum x x'
  std::vector<double> cross_;  ///< sum y x'
  // Of the last patches, in single precision; folded into the sums every few thousand patches.
  std::vector<float> gram_part_, cross_part_;
  int64_t part_count_ = 0;
};

/// How patches are cut out of a tensor [n, channels, height, width] (or rows out of [m, channels]).
struct PatchGeometry {
  Window window;
  int64_t stride = 1;
  int64_t output_height = 1;
  int64_t output_width = 1;
};

/// An output position: image, row, column.
struct Position {
  int64_t image = 0, row = 0, column = 0;
};

/// Copies the patch of each position out of `input` (zeros outside it), channel by channel, row by
/// row: [positions x patch_size].
std::vector<float> gather_patches(const Tensor& input, const PatchGeometry& geometry,
                                  const std::vector<Position>& positions);

/// The output channels at each position of a tensor [n, channels, height, width] or [m, channels]:
/// [positions x channels].
std::vector<float> gather_outputs(const Tensor& output, const std::vector<Position>& positions);

}  // namespace opsmith::substitute
