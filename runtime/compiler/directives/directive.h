#pragma once

#include "runtime/compiler/loop_nest.h"

namespace opsmith::compiler::directives {

/// Changes the loop nest as the directive says; see docs/schedules.md. One file each; the table
/// that names them is in loop_nest.cpp.
using Apply = void (*)(LoopNest&, const schedule::Directive&);

void split(LoopNest& nest, const schedule::Directive& directive);
void reorder(LoopNest& nest, const schedule::Directive& directive);
void compute_at(LoopNest& nest, const schedule::Directive& directive);
void fuse(LoopNest& nest, const schedule::Directive& directive);
void parallel(LoopNest& nest, const schedule::Directive& directive);
void unroll(LoopNest& nest, const schedule::Directive& directive);
void vectorize(LoopNest& nest, const schedule::Directive& directive);
void tile(LoopNest& nest, const schedule::Directive& directive);
void store(LoopNest& nest, const schedule::Directive& directive);
void pack(LoopNest& nest, const schedule::Directive& directive);

}  // namespace opsmith::compiler::directives
