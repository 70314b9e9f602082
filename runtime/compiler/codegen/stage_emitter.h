#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/compiler/codegen/axis_frame.h"
#include "runtime/compiler/codegen/tensor_access.h"
#include "runtime/compiler/loop_nest.h"
#include "runtime/compiler/region.h"

namespace opsmith::compiler {

/// What the stages of one function share.
struct PhaseContext {
  llvm::IRBuilder<>& builder;
  const LoopNest& nest;
  std::map<std::string, TensorPlace> tensors;
  Atoms atoms;
  /// Of tensors of which only the part that one iteration needs is in memory: where it begins.
  std::map<std::string, std::vector<LinearForm>> origins;
};

/// Emits the loops of one stage into a function:
///
///   for each task                     (parallel loops)
///     for each outer output iteration (serial loops)
///       accumulators of the register tile = identity
///       for each reduction iteration
///         accumulators += body, for every point of the tile
///       store epilogue(accumulators)
///
/// Where a split has a rest, the code inside is emitted twice: for full iterations and for the
/// last, shorter one. Stages that are computed inside a loop come first in each of its iterations.
class StageEmitter {
 public:
  StageEmitter(PhaseContext& phase, const StageNest& nest);

  /// Number of tasks; 0 when the stage has no elements.
  int64_t tasks() const;
  /// Emits the tasks [begin, end) at the builder's place.
  void emit(llvm::Value* begin, llvm::Value* end);

 private:
  /// A stage inside another: its part of the tensor, with the loops around as `outer` knows them.
  void emit_inside(const Region& region, const StageEmitter& outer);
  /// The stages that are computed at the beginning of an iteration of this loop.
  void emit_anchored(const std::string& loop, const AxisFrame& frame);
  /// Indices relative to the part of a tensor that is in memory.
  std::vector<LinearForm> stored(const std::string& tensor, std::vector<LinearForm> indices) const;

  using Accumulators = std::vector<llvm::Value*>;
  /// A point of the register tile.
  struct Point {
    AxisFrame frame;
    Lanes lanes;
    int64_t number = 0;
  };

  void emit_task(llvm::Value* task);
  void emit_parallel(size_t level, const AxisFrame& frame, const std::vector<llvm::Value*>& index);
  void emit_outer(size_t level, const AxisFrame& frame);
  void emit_tile(const AxisFrame& frame);
  Accumulators reduce(size_t level, const AxisFrame& frame, Accumulators accumulators);
  Accumulators reduce_serial(size_t level, const AxisFrame& frame, Accumulators accumulators,
                             int64_t full);
  Accumulators body(const AxisFrame& frame, Accumulators accumulators);
  /// Prefetches where the tile's results go and what is added to them.
  void prefetch_results(const std::vector<Point>& outputs);
  int64_t reduction_steps() const;
  void finish(const Point& point, const Accumulators& accumulators);

  /// Points of the copied loops in order: output ones, or those of reduction axes.
  std::vector<Point> points(const AxisFrame& frame, bool reduction);
  void add_points(size_t level, const Point& point, bool reduction, std::vector<Point>& found);

  TypedValue evaluate(const expression::Scalar& scalar, const Point& point, Arithmetic& arithmetic,
                      TensorAccess& access, const TypedValue* reduced);
  TypedValue evaluate_select(const expression::Scalar& scalar, const Point& point,
                             Arithmetic& arithmetic, TensorAccess& access,
                             const TypedValue* reduced);
  TypedValue evaluate_read(const expression::Scalar& read, const Point& point,
                           TensorAccess& access);
  TypedValue evaluate_position(const expression::Scalar& scalar, const Point& point,
                               Arithmetic& arithmetic, TensorAccess& access);
  const TensorPlace& tensor(const std::string& name) const;
  /// Tests that a read needs and that do not follow from the ranges.
  std::vector<Guard> open_guards(const TensorPlace& place, const std::vector<LinearForm>& indices,
                                 std::vector<Guard> guards, const AxisFrame& frame) const;
  /// Bounds of a reduction loop outside which every read of a factor is the fill value.
  struct Bounds {
    llvm::Value* low = nullptr;
    llvm::Value* high = nullptr;
    std::vector<Guard> guards;
  };
  Bounds bounds(int loop, const LinearForm& variable, const AxisFrame& frame, int64_t full);

  void define(const LinearForm& loop, llvm::Value* value);
  llvm::Function* function() { return builder_.GetInsertBlock()->getParent(); }
  LinearForm lane_variable(int64_t active);

  PhaseContext& phase_;
  llvm::IRBuilder<>& builder_;
  const StageNest& nest_;
  AxisTable axes_;
  std::vector<int> loops_;  ///< axis numbers of the nest's loops
  int vector_loop_ = -1;    ///< place in the nest
  int64_t width_ = 1;
  int64_t reduction_points_ = 1;  ///< accumulators of one output point
  Atoms& atoms_;
  Arithmetic arithmetic_;  ///< of the body
  Arithmetic scalar_;      ///< of the epilogue where the lanes were reduced
  TensorAccess access_;
  TensorAccess scalar_access_;
  std::map<int64_t, LinearForm> lane_variables_;
};

/// Whether the body's value is the reduction's identity wherever this read is the fill value, so
/// that such iterations can be left out.
bool is_neutral_outside(const expression::Stage& stage, const expression::Scalar& read);

}  // namespace opsmith::compiler
