#include <algorithm>

#include "runtime/compiler/directives/directive.h"

namespace opsmith::compiler::directives {

/// axes: two neighbouring loops, the outer first; argument: the name of the one they become.
void fuse(LoopNest& nest, const schedule::Directive& directive) {
  StageNest& stage = nest.stage(directive);
  if (directive.axes.size() != 2) refuse(directive, "it needs two axes");
  const std::string& outer = directive.axes[0];
  const std::string& inner = directive.axes[1];
  const std::string& fused = directive.argument;
  if (fused.empty() || stage.axes.count(fused) != 0) {
    refuse(directive, "the name '" + fused + "' is taken or empty");
  }
  const Loop first = stage.loop(outer, directive);
  const Loop second = stage.loop(inner, directive);
  const auto at = std::find_if(stage.loops.begin(), stage.loops.end(),
                               [&](const Loop& loop) { return loop.axis == outer; });
  if (at + 1 == stage.loops.end() || (at + 1)->axis != inner) {
    refuse(directive, "'" + inner + "' does not follow '" + outer + "' directly");
  }
  if (first.kind != LoopKind::Serial || second.kind != LoopKind::Serial) {
    refuse(directive, "only serial loops can be fused");
  }
  AxisRelation& a = stage.axes.at(outer);
  AxisRelation& b = stage.axes.at(inner);
  if (a.reduction != b.reduction) refuse(directive, "one is a reduction axis, the other is not");
  for (const auto& [name, other] : stage.axes) {
    if (other.kind != AxisRelation::Kind::Split) continue;
    const bool concerned = other.first == outer || other.second == outer || other.first == inner ||
                           other.second == inner;
    if (concerned && other.extent % other.factor != 0) {
      refuse(directive, "'" + name + "' was split with a rest");
    }
  }
  const int64_t factor = std::max<int64_t>(b.extent, 1);
  stage.axes[fused] = {AxisRelation::Kind::Loop, {}, {}, 0, a.extent * b.extent, a.reduction};
  a.kind = AxisRelation::Kind::FusedOuter;
  b.kind = AxisRelation::Kind::FusedInner;
  a.first = b.first = fused;
  a.factor = b.factor = factor;
  at->axis = fused;
  stage.loops.erase(at + 1);
}

}  // namespace opsmith::compiler::directives
