#pragma once

#include <string>
#include <vector>

#include "runtime/executor/operation.h"

namespace opsmith::executor {

/// Makes the inputs of these names weights of every program that reads them, so that kernels may
/// ask for them in another layout. Unknown names are ignored. Returns the values, sorted.
std::vector<ValueId> mark_parameters(OperationList& list, const std::vector<std::string>& names);

/// A copy of a value into another one of the same shape and another layout, as an expression.
Operation copy_between_layouts(const PlanValue& value, ValueId from, ValueId to);

}  // namespace opsmith::executor
