#pragma once

#include <memory>

#include "graph/evaluator.h"

namespace opsmith::executor {

/// Evaluates nodes with plain kernels and, where a node is an expression, the interpreter: what
/// constant folding uses. Needs no compiler.
std::unique_ptr<graph::Evaluator> make_evaluator();

}  // namespace opsmith::executor
