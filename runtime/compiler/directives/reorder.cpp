#include <algorithm>

#include "runtime/compiler/directives/directive.h"

namespace opsmith::compiler::directives {

/// axes: loops, outermost first. They take the places that they have now, in this order.
void reorder(LoopNest& nest, const schedule::Directive& directive) {
  StageNest& stage = nest.stage(directive);
  std::vector<Loop> wanted;
  for (const std::string& axis : directive.axes) {
    if (std::count(directive.axes.begin(), directive.axes.end(), axis) != 1) {
      refuse(directive, "'" + axis + "' appears twice");
    }
    wanted.push_back(stage.loop(axis, directive));
  }
  size_t next = 0;
  for (Loop& loop : stage.loops) {
    const auto named = std::find(directive.axes.begin(), directive.axes.end(), loop.axis);
    if (named != directive.axes.end()) loop = wanted[next++];
  }
}

}  // namespace opsmith::compiler::directives
