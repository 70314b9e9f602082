#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/expression/program.h"
#include "runtime/schedule/schedule.h"

namespace opsmith::compiler {

/// How the iterations of a loop are run.
enum class LoopKind : uint8_t {
  Serial,
  Parallel,  ///< iterations are tasks of the phase
  Unrolled,  ///< copied, one after the other (reduction axes)
  Tile,      ///< copied, each with its own accumulator, so that accumulators stay in registers
  Vector,    ///< lanes of one vector
};

struct Loop {
  std::string axis;
  LoopKind kind = LoopKind::Serial;
};

/// How the value of an axis comes from loops: it is a loop itself, was split, or was fused.
struct AxisRelation {
  enum class Kind : uint8_t {
    Loop,
    Split,       ///< first * factor + second
    FusedOuter,  ///< first / factor
    FusedInner,  ///< first mod factor
  };
  Kind kind = Kind::Loop;
  std::string first, second;  ///< outer and inner of a split; the fused loop
  int64_t factor = 0;
  int64_t extent = 0;  ///< the largest; the last iteration of a split's outer part may have less
  bool reduction = false;
};

/// The loops around one stage, outermost first.
struct StageNest {
  expression::Stage stage;
  std::vector<Loop> loops;
  std::map<std::string, AxisRelation> axes;
  /// Where the stage is computed inside another: that stage, and the loop whose iterations begin
  /// with it. Empty: a phase of its own.
  std::string anchor, anchor_loop;

  /// Throws UserError naming `directive` and the axis when it is no loop of this stage.
  Loop& loop(const std::string& axis, const schedule::Directive& directive);
  bool is_reduction(const Loop& loop) const { return axes.at(loop.axis).reduction; }
};

/// A program with its loops. Stages that `pack` made stand before those that read them.
struct LoopNest {
  expression::Program program;
  std::map<std::string, schedule::Layout> layouts;  ///< of every tensor, stages included
  std::vector<StageNest> stages;                    ///< in the program's order

  StageNest& stage(const schedule::Directive& directive);
  const StageNest& stage(const std::string& name) const;
};

/// Loop nests from a program's stages and the directives of a schedule, in their order. Throws
/// UserError naming the directive and why it does not fit.
LoopNest apply(const expression::Program& program, const schedule::Schedule& schedule,
               const std::map<std::string, schedule::Layout>& layouts);

/// The plain nest of a stage: one serial loop for each axis and reduction axis.
StageNest make_nest(const expression::Stage& stage);

/// "split of y (w, wo, wi) by 14": how messages name a directive.
std::string describe(const schedule::Directive& directive);
/// Throws UserError: "<directive>: <reason>".
[[noreturn]] void refuse(const schedule::Directive& directive, const std::string& reason);

}  // namespace opsmith::compiler
