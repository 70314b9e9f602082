#pragma once

#include "runtime/expression/program.h"

namespace opsmith::expression {

/// The program with the names that its content hash sees: tensors, and iterators of each stage, are
/// called "$0", "$1", ... by their place. Programs that differ in names only become equal, so that
/// kernels and schedules made for one serve the others.
Program canonical_names(Program program);

}  // namespace opsmith::expression
