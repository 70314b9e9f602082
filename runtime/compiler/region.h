#pragma once

#include <deque>
#include <string>
#include <vector>

#include "runtime/compiler/codegen/axis_frame.h"

namespace opsmith::compiler {

/// The part of an intermediate tensor that one iteration of the loops around its readers needs.
struct Region {
  std::vector<LinearForm> origin;  ///< in the variables of those loops
  std::vector<int64_t> extents;
};

/// The part of `tensor` that is read by `anchor` and by the stages computed inside it, while the
/// loops that `frame` binds stay at one iteration. Throws UserError when a stage that is not
/// computed inside `anchor` reads it too, or when reads want parts that move differently.
Region region_of(const LoopNest& nest, const std::string& tensor, const StageNest& anchor,
                 const AxisFrame& frame, Atoms& atoms);

/// The frame of a stage in an iteration of its loops down to `loop` that is not the last, whatever
/// the loops around the stage are at. Keeps the tables that frames refer to.
class FrameInside {
 public:
  FrameInside(const LoopNest& nest, Atoms& atoms) : nest_(nest), atoms_(atoms) {}
  AxisFrame at(const StageNest& stage, const std::string& loop);

 private:
  const LoopNest& nest_;
  Atoms& atoms_;
  std::deque<AxisTable> tables_;
};

/// Places the axes of a stage that is computed inside another.
void place_axes(AxisFrame& frame, const AxisTable& table, const expression::Stage& stage,
                const Region& region);

}  // namespace opsmith::compiler
