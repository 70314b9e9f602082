#pragma once

#include <cstdint>
#include <vector>

#include "support/tensor.h"

namespace opsmith::kernels {

/// One element that an interpolated value is made of, along one dimension. Position -1 stands for a
/// zero outside the tensor.
struct Tap {
  int64_t position;
  double weight;
};

/// The two neighbours of a fractional position, zeros outside [0, extent).
std::vector<Tap> linear_taps(double position, int64_t extent);

/// The sum over all combinations of one tap per dimension of the product of their weights and the
/// element there; `data` holds prod(extents) numbers, row-major.
double sample(const double* data, const Shape& extents, const std::vector<std::vector<Tap>>& taps);

}  // namespace opsmith::kernels
