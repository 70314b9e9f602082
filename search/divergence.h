#pragma once

#include <string>

#include "search/samples.h"

namespace opsmith::search {

/// How far outputs are from reference outputs, over all samples.
struct Divergence {
  double relative_l2 = 0;  ///< |a - b| / |b| over all elements of all floating-point outputs
  double agreement = 1;    ///< share of samples with the same largest element, of the first output
};

Divergence divergence(const Tensors& outputs, const Tensors& reference,
                      const std::string& first_output);

/// Index of the largest element of each sample (elements beyond the first dimension flattened).
std::vector<int64_t> top_classes(const Tensor& scores);

/// Share of samples, in percent, whose largest score is the label's. Throws UserError when the
/// labels do not fit the scores.
double top1_accuracy(const Tensor& scores, const Tensor& labels);

}  // namespace opsmith::search
