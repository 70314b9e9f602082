#pragma once

#include <string>
#include <vector>

#include "runtime/expression/program.h"

namespace opsmith::expression {

/// The name of the gradient with respect to a tensor in a program made by `differentiate`.
std::string gradient_name(const std::string& tensor);

/// Program that takes the inputs and weights of `program` and, for each output z, the incoming
/// gradient gradient_name(z) as a further input, and computes gradient_name(t) for each t in
/// `with_respect_to` (inputs or weights). Forward stages that the gradient needs are recomputed
/// inside. Reads whose index can be inverted become gathers, all others scatter stages.
/// Throws Unsupported naming the stage where something has no derivative.
Program differentiate(const Program& program, const std::vector<std::string>& with_respect_to);

}  // namespace opsmith::expression
