#pragma once

#include "runtime/executor/operation.h"

namespace opsmith::executor {

/// Makes one operation of each stage of a synthesized operator, so that every stage gets layouts,
/// halos and packed weights of its own. Returns how many operations were added.
int split_stages(OperationList& list);

}  // namespace opsmith::executor
