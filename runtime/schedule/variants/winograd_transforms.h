#pragma once

#include <cstdint>
#include <vector>

#include "runtime/expression/scalar.h"

namespace opsmith::schedule {

/// The one-dimensional transforms of Winograd's minimal filtering F(m, 3), m = 2 or 4, written out
/// as sums (Lavin and Gray, "Fast algorithms for convolutional neural networks", section 4). The
/// terms that two results share are written alike, so that the compiler finds them.
struct WinogradTransforms {
  int64_t outputs = 4;                          ///< m
  int64_t size() const { return outputs + 2; }  ///< of a tile of inputs

  using Values = std::vector<expression::Scalar>;
  Values input(const Values& d) const;   ///< size() to size()
  Values weight(const Values& g) const;  ///< 3 to size()
  Values output(const Values& m) const;  ///< size() to outputs
};

/// The value number `row`, which lies in [0, values.size()).
expression::Scalar choose(const expression::Index& row,
                          const std::vector<expression::Scalar>& values);

}  // namespace opsmith::schedule
