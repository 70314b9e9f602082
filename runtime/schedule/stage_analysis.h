#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/expression/program.h"
#include "runtime/schedule/layout.h"

namespace opsmith::schedule {

/// How an element that a stage touches moves with one axis.
enum class Movement : uint8_t { Still, NextElement, Elsewhere };

/// An axis that a schedule works with: one of the stage's, or several neighbours fused.
struct LoopAxis {
  struct Part {
    std::string name;
    int64_t extent = 1;
  };
  std::string name;
  int64_t extent = 1;
  bool reduction = false;
  std::vector<Part> parts;  ///< outermost first
};

/// What the rules need to know of a stage: how its reads and its write move in memory. Found by
/// evaluating addresses at sample points, so that it holds for any index expression.
class StageAnalysis {
 public:
  struct Access {
    std::string tensor;
    std::vector<expression::Index> indices;
    Layout layout;
    Shape shape;
    bool in_body = true;
    bool write = false;
    /// The layout is still to be chosen: moves element by element along any axis that is an index
    /// of its own.
    bool packable = false;
  };

  StageAnalysis(const expression::Program& program, const expression::Stage& stage,
                const std::map<std::string, Layout>& layouts);
  /// Marks the reads of a tensor whose layout may be chosen to suit the stage.
  void mark_packable(const std::string& tensor);

  const expression::Stage& stage() const { return *stage_; }
  const std::vector<Access>& accesses() const { return accesses_; }
  const Access& write() const { return accesses_.back(); }
  /// Axes of one iteration.
  const std::vector<LoopAxis>& unit_axes() const { return unit_axes_; }
  /// The other output axes, then reduction axes, in the stage's order, fused where `fuse` did so.
  std::vector<LoopAxis>& axes() { return axes_; }
  const std::vector<LoopAxis>& axes() const { return axes_; }

  /// The movement over `lanes` neighbouring iterations, at worst among sample points.
  Movement movement(const Access& access, const LoopAxis& axis, int64_t lanes) const;
  /// Whether iterating `inner` within `outer` walks evenly through every access.
  bool fusable(const LoopAxis& outer, const LoopAxis& inner) const;
  /// Joins axes() i and i + 1 into one.
  void fuse(size_t i);
  /// Whether the index of some dimension may leave the tensor and its halo, and the axes that it
  /// depends on.
  bool leaves(const Access& access, std::vector<std::string>* axes = nullptr) const;
  /// Iterations of all output axes, of all reduction axes.
  int64_t output_volume() const;
  int64_t reduction_volume() const;

 private:
  int64_t offset(const Access& access, const expression::Binding& point) const;

  const expression::Stage* stage_;
  std::vector<Access> accesses_;
  std::vector<LoopAxis> axes_, unit_axes_;
  expression::Binding origin_;
};

}  // namespace opsmith::schedule
