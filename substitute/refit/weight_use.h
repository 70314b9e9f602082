#pragma once

#include <cstddef>
#include <vector>

#include "substitute/refit/chain.h"

namespace opsmith::substitute {

/// Blocks that hold the same elements of one weight tensor, each exactly once: a matrix that is
/// applied at several places (the window taps that a later stage looks at).
struct TiedBlocks {
  std::vector<size_t> blocks;
};

/// Where one weight tensor is used in a linear form.
struct WeightUse {
  int weight = 0;
  std::vector<size_t> blocks;    ///< ascending
  bool matrices = false;         ///< the tensor is cut into the disjoint matrices of `ties`
  std::vector<TiedBlocks> ties;  ///< meaningful when `matrices`
};

/// In the order in which the weights are first used; weights without effect are left out.
std::vector<WeightUse> weight_uses(const Chain& chain);

}  // namespace opsmith::substitute
