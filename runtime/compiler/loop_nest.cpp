#include "runtime/compiler/loop_nest.h"

#include <algorithm>

#include "runtime/compiler/directives/directive.h"
#include "support/error.h"

namespace opsmith::compiler {
namespace {

const std::map<std::string, directives::Apply>& table() {
  static const std::map<std::string, directives::Apply> entries = {
      {"split", directives::split},   {"reorder", directives::reorder},
      {"fuse", directives::fuse},     {"parallel", directives::parallel},
      {"unroll", directives::unroll}, {"vectorize", directives::vectorize},
      {"tile", directives::tile},     {"store", directives::store},
      {"pack", directives::pack},     {"compute_at", directives::compute_at},
  };
  return entries;
}

int64_t constant_extent(const expression::Stage& stage, const expression::Axis& axis) {
  const expression::Index extent = expression::simplify(axis.extent);
  require(extent.is_constant(),
          "stage '" + stage.name + "': the extent of '" + axis.name + "' is not bound");
  return extent.value();
}

bool has_rest(const StageNest& nest, const std::string& split);

/// Whether an axis is shorter in the last iteration of some loop: it is part of a split with a
/// rest, or one of a stage that is computed inside another's loop, of whose last iteration the same
/// may hold.
bool gets_shorter(const StageNest& nest, const std::string& axis) {
  const auto& own = nest.stage.axes;
  const bool shrinks = !nest.anchor.empty() &&
                       std::any_of(own.begin(), own.end(), [&](const expression::Axis& other) {
                         return other.name == axis;
                       });
  if (shrinks) return true;
  return std::any_of(nest.axes.begin(), nest.axes.end(), [&](const auto& entry) {
    const auto& [name, split] = entry;
    if (split.kind != AxisRelation::Kind::Split) return false;
    return (split.second == axis && has_rest(nest, name)) ||
           (split.first == axis && gets_shorter(nest, name));
  });
}

/// Whether the last iteration of a split's outer part may be a shorter one.
bool has_rest(const StageNest& nest, const std::string& split) {
  const AxisRelation& relation = nest.axes.at(split);
  return relation.extent % relation.factor != 0 || gets_shorter(nest, split);
}

/// What code generation relies on: after the first reduction loop only loops whose accumulators
/// stay in registers; the outer part of a split with a rest is a loop outside its inner part, none
/// of which is fused.
void check(const StageNest& nest) {
  bool reducing = false;
  std::map<std::string, size_t> place;
  for (size_t i = 0; i < nest.loops.size(); ++i) {
    const Loop& loop = nest.loops[i];
    place[loop.axis] = i;
    const bool copied = loop.kind == LoopKind::Tile || loop.kind == LoopKind::Vector;
    if (nest.is_reduction(loop)) {
      reducing = reducing || !copied;
    } else if (reducing && !copied) {
      throw UserError("schedule of '" + nest.stage.name + "': output loop '" + loop.axis +
                      "' is inside a reduction loop but neither tiled nor vectorized");
    }
  }
  for (const auto& [name, axis] : nest.axes) {
    if (axis.kind != AxisRelation::Kind::Split || !has_rest(nest, name)) continue;
    const std::string where = "schedule of '" + nest.stage.name + "': ";
    const auto outer = place.find(axis.first);
    if (outer == place.end()) {
      throw UserError(where + "'" + axis.first + "' is split or fused, but '" + name +
                      "' is no multiple of its parts everywhere");
    }
    std::vector<std::string> parts = {axis.second};
    while (!parts.empty()) {
      const std::string part = parts.back();
      parts.pop_back();
      const AxisRelation& relation = nest.axes.at(part);
      if (relation.kind == AxisRelation::Kind::Split) {
        parts.push_back(relation.first);
        parts.push_back(relation.second);
      } else if (relation.kind != AxisRelation::Kind::Loop) {
        throw UserError(where + "'" + part + "' is fused, but the last iteration of '" +
                        axis.first + "' makes it shorter");
      } else if (place.at(part) < outer->second) {
        throw UserError(where + "loop '" + part + "' is outside '" + axis.first +
                        "', whose last iteration makes it shorter");
      }
    }
  }
}

/// A stage inside another runs whole in one task, outside that one's reductions and tile.
void check_anchored(const LoopNest& nest, const StageNest& stage) {
  const std::string name = "schedule of '" + stage.stage.name + "': ";
  for (const Loop& loop : stage.loops) {
    if (loop.kind == LoopKind::Parallel) {
      throw UserError(name + "'" + loop.axis + "' is parallel, but computed inside '" +
                      stage.anchor + "'");
    }
  }
  if (!nest.layouts.at(stage.stage.name).halo.empty()) {
    throw UserError(name + "computed inside '" + stage.anchor + "', it can have no halo");
  }
  for (const Loop& loop : nest.stage(stage.anchor).loops) {
    const bool outer = loop.kind == LoopKind::Serial || loop.kind == LoopKind::Parallel;
    if (!outer || nest.stage(stage.anchor).is_reduction(loop)) break;
    if (loop.axis == stage.anchor_loop) return;
  }
  throw UserError(name + "'" + stage.anchor_loop + "' is not outside the reductions and the tile " +
                  "of '" + stage.anchor + "'");
}

}  // namespace

std::string describe(const schedule::Directive& directive) {
  std::string text = directive.kind + " of '" + directive.stage + "'";
  if (!directive.axes.empty()) {
    text += " (";
    for (size_t i = 0; i < directive.axes.size(); ++i) {
      text += (i == 0 ? "" : ", ") + directive.axes[i];
    }
    text += ')';
  }
  if (directive.factor != 0) text += " by " + std::to_string(directive.factor);
  return text;
}

void refuse(const schedule::Directive& directive, const std::string& reason) {
  throw UserError(describe(directive) + ": " + reason);
}

Loop& StageNest::loop(const std::string& axis, const schedule::Directive& directive) {
  for (Loop& candidate : loops) {
    if (candidate.axis == axis) return candidate;
  }
  refuse(directive, "there is no loop '" + axis + "'");
}

StageNest& LoopNest::stage(const schedule::Directive& directive) {
  for (StageNest& candidate : stages) {
    if (candidate.stage.name == directive.stage) return candidate;
  }
  refuse(directive, "there is no such stage");
}

const StageNest& LoopNest::stage(const std::string& name) const {
  for (const StageNest& candidate : stages) {
    if (candidate.stage.name == name) return candidate;
  }
  throw InternalError("there is no stage '" + name + "'");
}

StageNest make_nest(const expression::Stage& stage) {
  StageNest nest;
  nest.stage = stage;
  const auto add = [&](const expression::Axis& axis, bool reduction) {
    const int64_t extent = constant_extent(stage, axis);
    nest.loops.push_back({axis.name, LoopKind::Serial});
    const bool fresh =
        nest.axes
            .emplace(axis.name,
                     AxisRelation{AxisRelation::Kind::Loop, {}, {}, 0, extent, reduction})
            .second;
    require(fresh, "stage '" + stage.name + "' has two axes '" + axis.name + "'");
  };
  for (const expression::Axis& axis : stage.axes) add(axis, false);
  for (const expression::Axis& axis : stage.reduction_axes) add(axis, true);
  return nest;
}

LoopNest apply(const expression::Program& program, const schedule::Schedule& schedule,
               const std::map<std::string, schedule::Layout>& layouts) {
  LoopNest nest;
  nest.program = program;
  const auto place = [&](const std::string& name, size_t rank) {
    const auto given = layouts.find(name);
    nest.layouts[name] = given == layouts.end() ? schedule::Layout::row_major(rank) : given->second;
  };
  for (const auto& input : program.inputs) place(input.name, input.shape.size());
  for (const auto& weight : program.weights) place(weight.name, weight.shape.size());
  for (const expression::Stage& stage : program.stages) {
    place(stage.name, stage.shape().size());
    nest.stages.push_back(make_nest(stage));
  }
  for (const schedule::Directive& directive : schedule.directives) {
    const auto entry = table().find(directive.kind);
    if (entry == table().end()) refuse(directive, "there is no such directive");
    entry->second(nest, directive);
  }
  for (const StageNest& stage : nest.stages) {
    check(stage);
    if (!stage.anchor.empty()) check_anchored(nest, stage);
  }
  return nest;
}

}  // namespace opsmith::compiler
