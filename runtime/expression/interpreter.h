#pragma once

#include <map>
#include <string>

#include "runtime/expression/program.h"

namespace opsmith::expression {

using Tensors = std::map<std::string, Tensor>;

/// Evaluates a program slowly and obviously: the oracle of every test. Sums accumulate in double
/// whatever the stage's accumulation type, so that the oracle has no rounding of its own worth
/// speaking of. Integer types wrap as in two's complement. `tensors` holds inputs and weights by
/// name; returns the outputs by name.
Tensors interpret(const Program& program, const Tensors& tensors, const Binding& binding = {});

}  // namespace opsmith::expression
