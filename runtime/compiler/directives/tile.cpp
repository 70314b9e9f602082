#include "runtime/compiler/directives/directive.h"

namespace opsmith::compiler::directives {
namespace {

constexpr int64_t kMostPoints = 256;

}  // namespace

/// axes: loops of the register tile. Every point has its own accumulator; those of reduction axes
/// are combined at the end.
void tile(LoopNest& nest, const schedule::Directive& directive) {
  StageNest& stage = nest.stage(directive);
  if (stage.stage.scatters()) refuse(directive, "a scatter stage has no accumulators");
  for (const std::string& axis : directive.axes) {
    stage.loop(axis, directive).kind = LoopKind::Tile;
  }
  int64_t points = 1;
  for (const Loop& loop : stage.loops) {
    if (loop.kind == LoopKind::Tile) points *= stage.axes.at(loop.axis).extent;
    if (points > kMostPoints) {
      refuse(directive, "the tile has more than " + std::to_string(kMostPoints) + " points");
    }
  }
}

}  // namespace opsmith::compiler::directives
