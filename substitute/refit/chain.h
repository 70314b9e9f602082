#pragma once

#include <cstdint>
#include <vector>

#include "substitute/refit/linear_form.h"

namespace opsmith::substitute {

/// Rows of floats with `columns` each.
struct Rows {
  int64_t count = 0;
  int64_t columns = 0;
  std::vector<float> data;

  Rows() = default;
  Rows(int64_t row_count, int64_t column_count)
      : count(row_count),
        columns(column_count),
        data(static_cast<size_t>(row_count * column_count)) {}
  float* row(int64_t i) { return data.data() + i * columns; }
  const float* row(int64_t i) const { return data.data() + i * columns; }
};

/// Evaluates a linear form on many patches at once, forward and backward.
class Chain {
 public:
  explicit Chain(const LinearForm& form) : form_(form) {}

  const LinearForm& form() const { return form_; }

  /// All values [form.values x columns] when input i has the values inputs.row(i).
  Rows forward(const std::vector<float>& weights, const Rows& inputs) const;

  /// The derivative of each output with respect to the values that blocks from `first` on make or
  /// read, those of inputs excepted: [form.values x outputs].
  Rows sensitivities(const std::vector<float>& weights, size_t first) const;

  /// A block's matrix. With `varied` >= 0 it is the matrix' derivative along `direction`, of which
  /// only the elements for weight tensor `varied` count (indexed like all weights).
  std::vector<float> block_matrix(const LinearBlock& block, const std::vector<float>& weights,
                                  int varied = -1,
                                  const std::vector<float>* direction = nullptr) const;

  /// Adds to `gradient` (indexed like all weights) the derivative with respect to weight tensor
  /// `varied` of a function whose derivative with respect to the block's matrix is `part`.
  void add_gradient(const LinearBlock& block, const std::vector<float>& weights, int varied,
                    const std::vector<float>& part, std::vector<float>& gradient) const;
  /// The same with squared chain factors, for diagonals of normal equations.
  void add_squared_gradient(const LinearBlock& block, const std::vector<float>& weights, int varied,
                            const std::vector<float>& part, std::vector<double>& gradient) const;

  /// Whether the block has the weight tensor as a factor.
  bool uses(const LinearBlock& block, int weight) const;

 private:
  const LinearForm& form_;
};

/// The chosen rows, one after another.
Rows gather_rows(const Rows& rows, const std::vector<int32_t>& chosen);

}  // namespace opsmith::substitute
