#include <algorithm>

#include "runtime/compiler/directives/directive.h"
#include "support/error.h"

namespace opsmith::compiler::directives {

/// argument: the layout in which the stage's tensor lies in the workspace.
void store(LoopNest& nest, const schedule::Directive& directive) {
  const StageNest& stage = nest.stage(directive);
  const std::vector<std::string>& outputs = nest.program.outputs;
  if (std::find(outputs.begin(), outputs.end(), directive.stage) != outputs.end()) {
    refuse(directive, "it is an output, whose layout the caller chooses");
  }
  const schedule::Layout layout = schedule::parse_layout(directive.argument);
  const auto rank = std::count_if(layout.order.begin(), layout.order.end(),
                                  [](const auto& piece) { return piece.block == 0; });
  if (static_cast<size_t>(rank) != stage.stage.shape().size()) {
    refuse(directive, "the layout is for another rank");
  }
  nest.layouts[directive.stage] = layout;
}

}  // namespace opsmith::compiler::directives
