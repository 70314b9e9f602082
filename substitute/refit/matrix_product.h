#pragma once

#include <cstdint>

namespace opsmith::substitute {

/// A matrix of floats in someone else's memory, with any strides.
struct MatrixView {
  const float* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 1;

  static MatrixView row_major(const float* data, int64_t rows, int64_t columns) {
    return {data, rows, columns, columns, 1};
  }
  MatrixView transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

/// Which part of the result is wanted; the other part is left undefined.
enum class MatrixPart : uint8_t { All, UpperTriangle };

/// result = a * b, or result += a * b when `accumulate`. `result` is row-major and dense. Runs on
/// all OpenMP threads with the widest vectors of this processor; the order of summation does not
/// depend on the number of threads. Fitting spends most of its time here.
void multiply(const MatrixView& a, const MatrixView& b, float* result, bool accumulate = false,
              MatrixPart part = MatrixPart::All);

}  // namespace opsmith::substitute
