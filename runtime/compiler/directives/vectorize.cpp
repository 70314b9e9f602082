#include "runtime/compiler/directives/directive.h"

namespace opsmith::compiler::directives {
namespace {

constexpr int64_t kMostLanes = 64;

}  // namespace

/// axes: the loop whose iterations become lanes. A reduction axis has partial results in lanes
/// that are combined at the end.
void vectorize(LoopNest& nest, const schedule::Directive& directive) {
  StageNest& stage = nest.stage(directive);
  if (directive.axes.size() != 1) refuse(directive, "it needs one axis");
  const std::string& axis = directive.axes[0];
  Loop& loop = stage.loop(axis, directive);
  if (stage.stage.scatters()) refuse(directive, "lanes of a scatter stage may meet in one place");
  for (const Loop& other : stage.loops) {
    if (other.kind == LoopKind::Vector && other.axis != axis) {
      refuse(directive, "'" + other.axis + "' is vectorized already");
    }
  }
  if (stage.axes.at(axis).extent > kMostLanes) {
    refuse(directive, "'" + axis + "' has more than " + std::to_string(kMostLanes) + " iterations");
  }
  loop.kind = LoopKind::Vector;
}

}  // namespace opsmith::compiler::directives
