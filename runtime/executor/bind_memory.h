#pragma once

#include "runtime/executor/plan.h"

namespace opsmith::executor {

/// Gives every value of a plan its location and every kernel its workspace: the last part of
/// building a plan. Constants are packed here; parts of a concatenation are placed inside it.
void bind_memory(Plan& plan, const PlanContext& context);

}  // namespace opsmith::executor
