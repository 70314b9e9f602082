#include "runtime/compiler/directives/directive.h"

namespace opsmith::compiler::directives {
namespace {

constexpr int64_t kMostCopies = 256;

}  // namespace

/// axes: reduction loops whose bodies are copied one after the other.
void unroll(LoopNest& nest, const schedule::Directive& directive) {
  StageNest& stage = nest.stage(directive);
  for (const std::string& axis : directive.axes) {
    Loop& loop = stage.loop(axis, directive);
    if (!stage.is_reduction(loop)) {
      refuse(directive, "'" + axis + "' is no reduction axis; use tile");
    }
    if (stage.axes.at(axis).extent > kMostCopies) {
      refuse(directive,
             "'" + axis + "' would be copied more than " + std::to_string(kMostCopies) + " times");
    }
    loop.kind = LoopKind::Unrolled;
  }
}

}  // namespace opsmith::compiler::directives
