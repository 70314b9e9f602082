#pragma once

#include <vector>

#include "runtime/executor/operation.h"

namespace opsmith::executor {

/// How one operation reads one of its inputs; decides the input's layout.
struct Access {
  enum class Need {
    RowMajor,  ///< exactly
    Blocked,   ///< channel-blocked, the halo at least `halo`
    Plain,     ///< not blocked, the halo at least `halo`
    Any,
  };
  Need need = Need::RowMajor;
  std::vector<schedule::Layout::Halo> halo;  ///< per dimension; empty: none
};

/// What an operation does to layouts.
enum class LayoutRole {
  Contraction,   ///< convolution-like: wants blocks
  Elementwise,   ///< follows its inputs
  Window,        ///< pooling: follows its input
  Accumulation,  ///< sums over the batch, as gradients of weights do: reads blocks, writes rows
  RowMajor,      ///< everything else
};

LayoutRole layout_role(const Operation& operation, const OperationList& list);

/// Whether channels of this value may lie in blocks.
bool can_block(const PlanValue& value, int64_t block);

/// How the operation reads input `i`, given which values lie in blocks.
Access access_of(const Operation& operation, size_t i, const OperationList& list,
                 const std::vector<bool>& blocked, int64_t block);

/// The halo that reads of `tensor` reach into, per dimension, where the fill value is zero and the
/// index is affine; empty when none.
std::vector<schedule::Layout::Halo> reach_of(const expression::Program& program,
                                             const std::string& tensor);

}  // namespace opsmith::executor
