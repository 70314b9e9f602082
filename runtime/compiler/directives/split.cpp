#include <algorithm>

#include "runtime/compiler/directives/directive.h"

namespace opsmith::compiler::directives {

/// axes: axis, outer, inner. The inner part keeps the factor (at most the extent); the last
/// iteration of the outer part has the rest where the factor does not divide the extent.
void split(LoopNest& nest, const schedule::Directive& directive) {
  StageNest& stage = nest.stage(directive);
  if (directive.axes.size() != 3) refuse(directive, "it needs an axis and two new names");
  if (directive.factor < 1) refuse(directive, "the factor must be at least 1");
  const std::string& axis = directive.axes[0];
  const std::string& outer = directive.axes[1];
  const std::string& inner = directive.axes[2];
  const Loop old = stage.loop(axis, directive);
  if (old.kind != LoopKind::Serial) refuse(directive, "only a serial loop can be split");
  for (const std::string& name : {outer, inner}) {
    if (name.empty() || stage.axes.count(name) != 0) {
      refuse(directive, "the name '" + name + "' is taken or empty");
    }
  }
  AxisRelation& relation = stage.axes.at(axis);
  const int64_t extent = relation.extent;
  const int64_t factor = std::max<int64_t>(1, std::min(directive.factor, extent));
  for (const auto& [name, other] : stage.axes) {
    if (other.kind == AxisRelation::Kind::Split && other.first == axis &&
        stage.axes.at(name).extent % other.factor != 0) {
      refuse(directive, "'" + axis + "' is the outer part of a split with a rest");
    }
  }
  relation.kind = AxisRelation::Kind::Split;
  relation.first = outer;
  relation.second = inner;
  relation.factor = factor;
  const bool reduction = relation.reduction;
  stage.axes[outer] = {AxisRelation::Kind::Loop,       {},       {}, 0,
                       (extent + factor - 1) / factor, reduction};
  stage.axes[inner] = {AxisRelation::Kind::Loop, {}, {}, 0, factor, reduction};
  const auto at = std::find_if(stage.loops.begin(), stage.loops.end(),
                               [&](const Loop& loop) { return loop.axis == axis; });
  at->axis = outer;
  stage.loops.insert(at + 1, Loop{inner, LoopKind::Serial});
}

}  // namespace opsmith::compiler::directives
