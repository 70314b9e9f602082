#pragma once

#include <vector>

#include "substitute/refit/weight_use.h"

namespace opsmith::substitute {

/// An approximate inverse of the normal equations of one weight tensor, for conjugate gradients.
///
/// A matrix W that maps values with Gram matrix G and reaches the outputs through sensitivities B
/// has the normal equations (B B') W G, whose inverse is applied from both sides; several places
/// with the same W are averaged, and couplings between different matrices are left to the
/// iteration. So a single matrix (the last stage, or a dense first one) is solved in one step.
/// Weights that are not matrices get the diagonal.
class Preconditioner {
 public:
  /// Per block of `use`: the values that it reads [columns x samples] and the sensitivities of
  /// the values that it makes [rows x outputs]. `input_precision`, if given, is the inverse Gram
  /// matrix of all inputs, for a matrix that reads just these.
  Preconditioner(const Chain& chain, const WeightUse& use, const std::vector<float>& weights,
                 const std::vector<Rows>& sources, const std::vector<Rows>& sensitivities,
                 const std::vector<float>* input_precision = nullptr);

  /// `gradient` is indexed like all weights; elements of other tensors stay zero.
  std::vector<float> apply(const std::vector<float>& gradient) const;

 private:
  struct MatrixInverse {
    std::vector<int32_t> elements;   ///< [rows x columns]
    std::vector<float> left, right;  ///< inverses [rows x rows] and [columns x columns]
    int64_t rows = 0, columns = 0;
  };
  std::vector<MatrixInverse> matrices_;
  std::vector<float> diagonal_;  ///< inverse, when there are no matrices
};

}  // namespace opsmith::substitute
