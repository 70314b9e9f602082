#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/expression/program.h"

namespace opsmith::expression {

/// Rewrites every index of a program: shapes and extents (with no stage), then the indices of each
/// stage (with the stage, whose extents are rewritten by then).
Program transform_program_indices(Program program,
                                  const std::function<Index(const Index&, const Stage*)>& rewrite);

/// The domains of a stage's iterators whose extents are constant.
Ranges ranges_of(const Stage& stage);

/// Elements of a shape. Throws UserError naming `owner` when a size is not bound, negative or too
/// large.
int64_t size_of(const std::vector<Index>& shape, const std::string& owner);

}  // namespace opsmith::expression
