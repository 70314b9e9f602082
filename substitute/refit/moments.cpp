#include "substitute/refit/moments.h"

#include <algorithm>

#include "substitute/refit/matrix_product.h"
#include "support/error.h"

namespace opsmith::substitute {

namespace {

/// Sums in single precision are folded into double after this many patches.
constexpr int64_t kChunk = 4096;

size_t size(int64_t n) { return static_cast<size_t>(n); }

struct Extents {
  int64_t images, channels, height, width;
};

Extents extents_of(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (shape.size() == 4) return {shape[0], shape[1], shape[2], shape[3]};
  require(!shape.empty(), "a layer's tensor has a rank");
  const int64_t channels = shape.back();
  return {channels == 0 ? 0 : tensor.count() / channels, channels, 1, 1};
}

}  // namespace

Moments::Moments(int64_t patch_size, int64_t outputs)
    : patch_size_(patch_size),
      outputs_(outputs),
      patch_sum_(size(patch_size)),
      target_sum_(size(outputs)),
      target_squares_(size(outputs)),
      gram_(size(patch_size * patch_size)),
      cross_(size(outputs * patch_size)),
      gram_part_(size(patch_size * patch_size)),
      cross_part_(size(outputs * patch_size)) {}

void Moments::add(const float* patches, const float* targets, int64_t count) {
  for (int64_t begin = 0; begin < count;) {
    const int64_t rows = std::min(kChunk - part_count_, count - begin);
    const float* x = patches + begin * patch_size_;
    const float* y = targets + begin * outputs_;
    const MatrixView x_view = MatrixView::row_major(x, rows, patch_size_);
    const MatrixView y_view = MatrixView::row_major(y, rows, outputs_);
    multiply(x_view.transposed(), x_view, gram_part_.data(), true, MatrixPart::UpperTriangle);
    multiply(y_view.transposed(), x_view, cross_part_.data(), true);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < patch_size_; ++i) patch_sum_[size(i)] += x[r * patch_size_ + i];
      for (int64_t o = 0; o < outputs_; ++o) {
        const double value = y[r * outputs_ + o];
        target_sum_[size(o)] += value;
        target_squares_[size(o)] += value * value;
      }
    }
    count_ += static_cast<double>(rows);
    part_count_ += rows;
    begin += rows;
    if (part_count_ == kChunk) fold();
  }
}

void Moments::fold() {
  for (size_t i = 0; i < gram_.size(); ++i) gram_[i] += gram_part_[i];
  for (size_t i = 0; i < cross_.size(); ++i) cross_[i] += cross_part_[i];
  std::fill(gram_part_.begin(), gram_part_.end(), 0.0f);
  std::fill(cross_part_.begin(), cross_part_.end(), 0.0f);
  part_count_ = 0;
}

std::vector<double> Moments::patch_mean() const {
  std::vector<double> mean = patch_sum_;
  for (double& m : mean) m /= std::max(count_, 1.0);
  return mean;
}

std::vector<double> Moments::target_mean() const {
  std::vector<double> mean = target_sum_;
  for (double& m : mean) m /= std::max(count_, 1.0);
  return mean;
}

std::vector<double> Moments::patch_covariance() const {
  const std::vector<double> mean = patch_mean();
  std::vector<double> covariance(gram_.size());
  for (int64_t i = 0; i < patch_size_; ++i) {
    for (int64_t j = i; j < patch_size_; ++j) {
      const double value =
          (gram_[size(i * patch_size_ + j)] + gram_part_[size(i * patch_size_ + j)]) /
              std::max(count_, 1.0) -
          mean[size(i)] * mean[size(j)];
      covariance[size(i * patch_size_ + j)] = covariance[size(j * patch_size_ + i)] = value;
    }
  }
  return covariance;
}

std::vector<double> Moments::cross_covariance() const {
  const std::vector<double> x_mean = patch_mean(), y_mean = target_mean();
  std::vector<double> covariance(cross_.size());
  for (int64_t o = 0; o < outputs_; ++o) {
    for (int64_t i = 0; i < patch_size_; ++i) {
      covariance[size(o * patch_size_ + i)] =
          (cross_[size(o * patch_size_ + i)] + cross_part_[size(o * patch_size_ + i)]) /
              std::max(count_, 1.0) -
          y_mean[size(o)] * x_mean[size(i)];
    }
  }
  return covariance;
}

std::vector<double> Moments::target_variance() const {
  const std::vector<double> mean = target_mean();
  std::vector<double> variance(size(outputs_));
  for (size_t o = 0; o < variance.size(); ++o) {
    variance[o] = std::max(0.0, target_squares_[o] / std::max(count_, 1.0) - mean[o] * mean[o]);
  }
  return variance;
}

std::vector<float> gather_patches(const Tensor& input, const PatchGeometry& geometry,
                                  const std::vector<Position>& positions) {
  const Extents x = extents_of(input);
  const Window& window = geometry.window;
  const int64_t patch_size = window.patch_size(x.channels);
  const std::span<const float> values = input.data<float>();
  std::vector<float> patches(positions.size() * size(patch_size));
#pragma omp parallel for
  for (size_t p = 0; p < positions.size(); ++p) {
    const Position& position = positions[p];
    float* to = patches.data() + p * size(patch_size);
    if (input.rank() != 4) {
      std::copy_n(values.data() + position.image * x.channels, x.channels, to);
      continue;
    }
    const int64_t top = position.row * geometry.stride, left = position.column * geometry.stride;
    for (int64_t c = 0; c < x.channels; ++c) {
      const float* plane = values.data() + (position.image * x.channels + c) * x.height * x.width;
      for (int64_t r = top + window.row_begin; r < top + window.row_end; ++r) {
        for (int64_t q = left + window.column_begin; q < left + window.column_end; ++q) {
          const bool inside = r >= 0 && r < x.height && q >= 0 && q < x.width;
          *to++ = inside ? plane[r * x.width + q] : 0.0f;
        }
      }
    }
  }
  return patches;
}

std::vector<float> gather_outputs(const Tensor& output, const std::vector<Position>& positions) {
  const Extents y = extents_of(output);
  const std::span<const float> values = output.data<float>();
  std::vector<float> rows(positions.size() * size(y.channels));
  for (size_t p = 0; p < positions.size(); ++p) {
    const Position& position = positions[p];
    for (int64_t c = 0; c < y.channels; ++c) {
      const int64_t from =
          output.rank() != 4
              ? position.image * y.channels + c
              : ((position.image * y.channels + c) * y.height + position.row) * y.width +
                    position.column;
      rows[p * size(y.channels) + size(c)] = values[size(from)];
    }
  }
  return rows;
}

}  // namespace opsmith::substitute
