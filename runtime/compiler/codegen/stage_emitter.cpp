#include "runtime/compiler/codegen/stage_emitter.h"

#include <algorithm>
#include <bit>

#include "support/error.h"

namespace opsmith::compiler {

using expression::Reduction;
using llvm::BasicBlock;
using llvm::Value;

namespace {

int64_t vector_width(const StageNest& nest) {
  for (const Loop& loop : nest.loops) {
    if (loop.kind != LoopKind::Vector) continue;
    const auto extent = static_cast<uint64_t>(nest.axes.at(loop.axis).extent);
    return static_cast<int64_t>(std::bit_ceil(std::max<uint64_t>(extent, 1)));
  }
  return 1;
}

bool is_copied(LoopKind kind) { return kind == LoopKind::Tile || kind == LoopKind::Vector; }

}  // namespace

StageEmitter::StageEmitter(PhaseContext& phase, const StageNest& nest)
    : phase_(phase),
      builder_(phase.builder),
      nest_(nest),
      axes_(nest),
      width_(vector_width(nest)),
      atoms_(phase.atoms),
      arithmetic_(builder_, width_),
      scalar_(builder_, 1),
      access_(builder_, atoms_, arithmetic_),
      scalar_access_(builder_, atoms_, scalar_) {
  for (size_t i = 0; i < nest.loops.size(); ++i) {
    const Loop& loop = nest.loops[i];
    loops_.push_back(axes_.id(loop.axis));
    if (loop.kind == LoopKind::Vector) vector_loop_ = static_cast<int>(i);
    if (loop.kind == LoopKind::Tile && nest.is_reduction(loop)) {
      reduction_points_ *= nest.axes.at(loop.axis).extent;
    }
  }
}

int64_t StageEmitter::tasks() const {
  const AxisFrame frame(axes_);
  int64_t count = 1;
  for (size_t i = 0; i < loops_.size(); ++i) {
    if (nest_.axes.at(nest_.loops[i].axis).reduction) continue;
    if (nest_.axes.at(nest_.loops[i].axis).extent == 0) return 0;
    if (nest_.loops[i].kind == LoopKind::Parallel) {
      const AxisFrame::Count iterations = frame.count(loops_[i]);
      count *= iterations.full + (iterations.rest ? 1 : 0);
    }
  }
  return count;
}

void StageEmitter::define(const LinearForm& loop, Value* value) {
  access_.define(loop, value);
  scalar_access_.define(loop, value);
}

LinearForm StageEmitter::lane_variable(int64_t active) {
  const auto [entry, fresh] = lane_variables_.try_emplace(active);
  if (fresh) entry->second = atoms_.lane(active);
  return entry->second;
}

void StageEmitter::emit(Value* begin, Value* end) {
  if (tasks() == 0) return;
  if (nest_.stage.scatters()) {
    const TensorPlace& target = tensor(nest_.stage.name);
    const int64_t bytes =
        target.layout.storage_count(target.shape) * static_cast<int64_t>(element_size(target.type));
    builder_.CreateMemSet(target.base, builder_.getInt8(0), static_cast<uint64_t>(bytes),
                          llvm::MaybeAlign(1));
  }
  BasicBlock* const before = builder_.GetInsertBlock();
  BasicBlock* const loop = BasicBlock::Create(builder_.getContext(), "task", function());
  builder_.CreateBr(loop);
  builder_.SetInsertPoint(loop);
  llvm::PHINode* const task = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  task->addIncoming(begin, before);
  emit_task(task);
  Value* const next = builder_.CreateAdd(task, builder_.getInt64(1));
  task->addIncoming(next, builder_.GetInsertBlock());
  BasicBlock* const after = BasicBlock::Create(builder_.getContext(), "done", function());
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), loop, after);
  builder_.SetInsertPoint(after);
}

void StageEmitter::emit_inside(const Region& region, const StageEmitter& outer) {
  access_.inherit(outer.access_);
  scalar_access_.inherit(outer.access_);
  AxisFrame frame(axes_);
  place_axes(frame, axes_, nest_.stage, region);
  emit_outer(0, frame);
}

void StageEmitter::emit_anchored(const std::string& loop, const AxisFrame& frame) {
  bool any = false;
  for (const StageNest& inner : phase_.nest.stages) {
    if (inner.anchor != nest_.stage.name || inner.anchor_loop != loop) continue;
    const Region region = region_of(phase_.nest, inner.stage.name, nest_, frame, atoms_);
    phase_.origins[inner.stage.name] = region.origin;
    StageEmitter(phase_, inner).emit_inside(region, *this);
    any = true;
  }
  if (!any) return;
  access_.forget();
  scalar_access_.forget();
}

std::vector<LinearForm> StageEmitter::stored(const std::string& tensor,
                                             std::vector<LinearForm> indices) const {
  const auto origin = phase_.origins.find(tensor);
  if (origin == phase_.origins.end()) return indices;
  for (size_t d = 0; d < indices.size(); ++d) indices[d] = indices[d] - origin->second[d];
  return indices;
}

void StageEmitter::emit_task(Value* task) {
  const AxisFrame frame(axes_);
  std::vector<Value*> index(loops_.size(), nullptr);
  for (size_t i = loops_.size(); i-- > 0;) {
    if (nest_.loops[i].kind != LoopKind::Parallel) continue;
    const AxisFrame::Count count = frame.count(loops_[i]);
    Value* const extent =
        builder_.getInt64(static_cast<uint64_t>(count.full + (count.rest ? 1 : 0)));
    index[i] = builder_.CreateURem(task, extent);
    task = builder_.CreateUDiv(task, extent);
  }
  emit_parallel(0, frame, index);
}

void StageEmitter::emit_parallel(size_t level, const AxisFrame& frame,
                                 const std::vector<Value*>& index) {
  if (level == loops_.size() || nest_.loops[level].kind != LoopKind::Parallel) {
    emit_outer(level, frame);
    return;
  }
  const int loop = loops_[level];
  const AxisFrame::Count count = frame.count(loop);
  const auto full = [&] {
    AxisFrame inner = frame;
    const LinearForm variable = atoms_.loop({0, count.full});
    define(variable, index[level]);
    inner.bind(loop, variable);
    emit_anchored(nest_.loops[level].axis, inner);
    emit_parallel(level + 1, inner, index);
  };
  const auto rest = [&] {
    AxisFrame inner = frame;
    inner.bind_rest(loop);
    emit_anchored(nest_.loops[level].axis, inner);
    emit_parallel(level + 1, inner, index);
  };
  if (!count.rest) return full();
  if (count.full == 0) return rest();
  llvm::LLVMContext& context = builder_.getContext();
  BasicBlock* const full_block = BasicBlock::Create(context, "full", function());
  BasicBlock* const rest_block = BasicBlock::Create(context, "rest", function());
  BasicBlock* const joined = BasicBlock::Create(context, "joined", function());
  builder_.CreateCondBr(
      builder_.CreateICmpULT(index[level], builder_.getInt64(static_cast<uint64_t>(count.full))),
      full_block, rest_block);
  builder_.SetInsertPoint(full_block);
  full();
  builder_.CreateBr(joined);
  builder_.SetInsertPoint(rest_block);
  rest();
  builder_.CreateBr(joined);
  builder_.SetInsertPoint(joined);
}

void StageEmitter::emit_outer(size_t level, const AxisFrame& frame) {
  while (level < loops_.size() &&
         (is_copied(nest_.loops[level].kind) || nest_.is_reduction(nest_.loops[level]))) {
    ++level;
  }
  if (level == loops_.size()) {
    emit_tile(frame);
    return;
  }
  const int loop = loops_[level];
  const AxisFrame::Count count = frame.count(loop);
  if (count.full == 1) {
    AxisFrame inner = frame;
    inner.bind(loop, 0);
    emit_anchored(nest_.loops[level].axis, inner);
    emit_outer(level + 1, inner);
  } else if (count.full > 1) {
    AxisFrame inner = frame;
    const LinearForm variable = atoms_.loop({0, count.full});
    BasicBlock* const before = builder_.GetInsertBlock();
    BasicBlock* const block =
        BasicBlock::Create(builder_.getContext(), nest_.loops[level].axis, function());
    builder_.CreateBr(block);
    builder_.SetInsertPoint(block);
    llvm::PHINode* const i = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    i->addIncoming(builder_.getInt64(0), before);
    define(variable, i);
    inner.bind(loop, variable);
    emit_anchored(nest_.loops[level].axis, inner);
    emit_outer(level + 1, inner);
    Value* const next =
        builder_.CreateAdd(i, builder_.getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
    i->addIncoming(next, builder_.GetInsertBlock());
    BasicBlock* const after = BasicBlock::Create(builder_.getContext(), "after", function());
    builder_.CreateCondBr(
        builder_.CreateICmpULT(next, builder_.getInt64(static_cast<uint64_t>(count.full))), block,
        after);
    builder_.SetInsertPoint(after);
  }
  if (count.rest) {
    AxisFrame inner = frame;
    inner.bind_rest(loop);
    emit_anchored(nest_.loops[level].axis, inner);
    emit_outer(level + 1, inner);
  }
}

std::vector<StageEmitter::Point> StageEmitter::points(const AxisFrame& frame, bool reduction) {
  std::vector<Point> found;
  add_points(0, Point{frame, {}, 0}, reduction, found);
  return found;
}

void StageEmitter::add_points(size_t level, const Point& point, bool reduction,
                              std::vector<Point>& found) {
  while (level < loops_.size() && (!is_copied(nest_.loops[level].kind) ||
                                   nest_.is_reduction(nest_.loops[level]) != reduction)) {
    ++level;
  }
  if (level == loops_.size()) {
    found.push_back(point);
    return;
  }
  const int loop = loops_[level];
  const AxisFrame::Count count = point.frame.count(loop);
  if (nest_.loops[level].kind == LoopKind::Vector) {
    require(!count.rest, "a vectorized loop is split again");
    if (count.full == 0) return;
    Point inner = point;
    const LinearForm variable = lane_variable(count.full);
    inner.lanes = {variable.terms.at(0).atom, count.full};
    inner.frame.bind(loop, variable);
    add_points(level + 1, inner, reduction, found);
    return;
  }
  const int64_t extent = nest_.axes.at(nest_.loops[level].axis).extent;
  for (int64_t i = 0; i < count.full + (count.rest ? 1 : 0); ++i) {
    Point inner = point;
    inner.number = point.number * extent + i;
    if (i < count.full) {
      inner.frame.bind(loop, i);
    } else {
      inner.frame.bind_rest(loop);
    }
    add_points(level + 1, inner, reduction, found);
  }
}

void StageEmitter::emit_tile(const AxisFrame& frame) {
  const std::vector<Point> outputs = points(frame, false);
  Accumulators accumulators;
  if (nest_.stage.reduction != Reduction::None) {
    prefetch_results(outputs);
    accumulators.assign(outputs.size() * static_cast<size_t>(reduction_points_),
                        arithmetic_.identity(nest_.stage.reduction, nest_.stage.accumulation));
    accumulators = reduce(0, frame, std::move(accumulators));
  }
  for (size_t p = 0; p < outputs.size(); ++p) {
    Accumulators own;
    if (!accumulators.empty()) {
      const auto first = accumulators.begin() + static_cast<std::ptrdiff_t>(p) * reduction_points_;
      own.assign(first, first + reduction_points_);
    }
    finish(outputs[p], own);
  }
}

void StageEmitter::finish(const Point& point, const Accumulators& accumulators) {
  const expression::Stage& stage = nest_.stage;
  const ElementType type = Arithmetic::computed(stage.accumulation);
  const bool lanes_reduced =
      vector_loop_ >= 0 && nest_.is_reduction(nest_.loops[static_cast<size_t>(vector_loop_)]);
  Arithmetic& arithmetic = lanes_reduced ? scalar_ : arithmetic_;
  TensorAccess& access = lanes_reduced ? scalar_access_ : access_;
  TypedValue value;
  if (stage.reduction == Reduction::None) {
    value = evaluate(stage.body, point, arithmetic, access, nullptr);
  } else {
    // Pairwise, so that partial sums are added in a tree.
    Accumulators partial = accumulators;
    while (partial.size() > 1) {
      Accumulators sums;
      for (size_t i = 0; i + 1 < partial.size(); i += 2) {
        sums.push_back(arithmetic_.combine(stage.reduction, type, partial[i], partial[i + 1]));
      }
      if (partial.size() % 2 != 0) sums.push_back(partial.back());
      partial = std::move(sums);
    }
    Value* const total =
        lanes_reduced ? scalar_.combine_lanes(stage.reduction, type, partial.at(0)) : partial.at(0);
    value = {total, type};
  }
  if (stage.epilogue) value = evaluate(*stage.epilogue, point, arithmetic, access, &value);
  const TensorPlace& place = tensor(stage.name);
  std::vector<LinearForm> indices;
  if (!stage.scatters()) {
    for (const expression::Axis& axis : stage.axes) {
      indices.push_back(point.frame.value(axes_.id(axis.name), atoms_));
    }
    access.store(place, stored(stage.name, std::move(indices)), point.lanes, value);
    return;
  }
  std::vector<Guard> guards;
  for (const expression::Index& index : stage.target) {
    indices.push_back(point.frame.form(index, atoms_, &guards));
  }
  guards = open_guards(place, indices, std::move(guards), point.frame);
  if (guards.empty()) {
    access.add(place, indices, value);
    return;
  }
  llvm::LLVMContext& context = builder_.getContext();
  BasicBlock* const inside = BasicBlock::Create(context, "inside", function());
  BasicBlock* const joined = BasicBlock::Create(context, "joined", function());
  builder_.CreateCondBr(access.emit_guards(guards), inside, joined);
  builder_.SetInsertPoint(inside);
  access.add(place, indices, value);
  builder_.CreateBr(joined);
  builder_.SetInsertPoint(joined);
}

}  // namespace opsmith::compiler
