#include <algorithm>

#include "runtime/compiler/directives/directive.h"
#include "runtime/compiler/region.h"
#include "support/error.h"

namespace opsmith::compiler::directives {

/// axes: a loop of the stage named by the argument, outside its reductions and register tile. Each
/// iteration of that loop first computes the part of this stage that is read inside it, into memory
/// of the thread. The axes of this stage shrink to that part, so the directive must come before
/// others of the stage and after those that make the loop.
void compute_at(LoopNest& nest, const schedule::Directive& directive) {
  StageNest& stage = nest.stage(directive);
  if (directive.axes.size() != 1) refuse(directive, "it needs one loop");
  if (!stage.anchor.empty()) refuse(directive, "it is computed inside another stage already");
  if (stage.stage.scatters()) refuse(directive, "it is a scatter stage");
  const std::vector<std::string>& outputs = nest.program.outputs;
  if (std::find(outputs.begin(), outputs.end(), directive.stage) != outputs.end()) {
    refuse(directive, "it is an output");
  }
  for (const auto& [name, axis] : stage.axes) {
    if (axis.kind != AxisRelation::Kind::Loop) refuse(directive, "'" + name + "' is split already");
  }
  StageNest* anchor = nullptr;
  for (StageNest& candidate : nest.stages) {
    if (candidate.stage.name == directive.argument) anchor = &candidate;
  }
  if (anchor == nullptr || anchor == &stage) {
    refuse(directive, "there is no other stage '" + directive.argument + "'");
  }
  for (const StageNest* at = anchor; !at->anchor.empty(); at = &nest.stage(at->anchor)) {
    if (at->anchor == directive.stage) refuse(directive, "they would be inside each other");
  }
  if (anchor->is_reduction(anchor->loop(directive.axes[0], directive))) {
    refuse(directive, "'" + directive.axes[0] + "' is not outside the reductions of '" +
                          directive.argument + "'");
  }
  Atoms atoms;
  Region region;
  try {
    FrameInside frames(nest, atoms);
    region =
        region_of(nest, directive.stage, *anchor, frames.at(*anchor, directive.axes[0]), atoms);
  } catch (const UserError& error) {
    refuse(directive, error.what());
  }
  stage.anchor = directive.argument;
  stage.anchor_loop = directive.axes[0];
  for (size_t d = 0; d < stage.stage.axes.size(); ++d) {
    stage.axes.at(stage.stage.axes[d].name).extent = region.extents[d];
  }
}

}  // namespace opsmith::compiler::directives
