#include "runtime/compiler/directives/directive.h"

namespace opsmith::compiler::directives {

/// axes: output loops whose iterations become tasks. They must be the outermost; several are
/// collapsed in loop order.
void parallel(LoopNest& nest, const schedule::Directive& directive) {
  StageNest& stage = nest.stage(directive);
  if (stage.stage.scatters())
    refuse(directive, "tasks of a scatter stage would write over another");
  for (const std::string& axis : directive.axes) {
    Loop& loop = stage.loop(axis, directive);
    if (stage.is_reduction(loop)) refuse(directive, "'" + axis + "' is a reduction axis");
    for (const Loop& outer : stage.loops) {
      if (outer.axis == axis) break;
      if (outer.kind != LoopKind::Parallel) {
        refuse(directive, "'" + axis + "' is inside '" + outer.axis + "', which is not parallel");
      }
    }
    loop.kind = LoopKind::Parallel;
  }
}

}  // namespace opsmith::compiler::directives
