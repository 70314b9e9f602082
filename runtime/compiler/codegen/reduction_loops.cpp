#include <algorithm>

#include "runtime/compiler/codegen/stage_emitter.h"
#include "support/error.h"

// The reduction loops of a stage, with accumulators that stay in registers.

namespace opsmith::compiler {

using expression::Reduction;
using expression::Scalar;
using llvm::BasicBlock;
using llvm::Value;

StageEmitter::Accumulators StageEmitter::reduce(size_t level, const AxisFrame& frame,
                                                Accumulators accumulators) {
  while (level < loops_.size() &&
         (!nest_.is_reduction(nest_.loops[level]) || nest_.loops[level].kind == LoopKind::Tile ||
          nest_.loops[level].kind == LoopKind::Vector)) {
    ++level;
  }
  if (level == loops_.size()) return body(frame, std::move(accumulators));
  const int loop = loops_[level];
  const AxisFrame::Count count = frame.count(loop);
  if (nest_.loops[level].kind == LoopKind::Unrolled || count.full == 1) {
    for (int64_t i = 0; i < count.full; ++i) {
      AxisFrame inner = frame;
      inner.bind(loop, i);
      accumulators = reduce(level + 1, inner, std::move(accumulators));
    }
  } else if (count.full > 1) {
    accumulators = reduce_serial(level, frame, std::move(accumulators), count.full);
  }
  if (count.rest) {
    AxisFrame inner = frame;
    inner.bind_rest(loop);
    accumulators = reduce(level + 1, inner, std::move(accumulators));
  }
  return accumulators;
}

StageEmitter::Accumulators StageEmitter::reduce_serial(size_t level, const AxisFrame& frame,
                                                       Accumulators accumulators, int64_t full) {
  const int loop = loops_[level];
  const LinearForm variable = atoms_.loop({0, full});
  const Bounds limits = bounds(loop, variable, frame, full);
  AxisFrame inner = frame;
  inner.bind(loop, variable);
  for (const Guard& guard : limits.guards) inner.assume(guard);

  llvm::LLVMContext& context = builder_.getContext();
  BasicBlock* const before = builder_.GetInsertBlock();
  BasicBlock* const block = BasicBlock::Create(context, nest_.loops[level].axis, function());
  BasicBlock* const after = BasicBlock::Create(context, "after", function());
  if (limits.guards.empty()) {
    builder_.CreateBr(block);
  } else {
    builder_.CreateCondBr(builder_.CreateICmpSLT(limits.low, limits.high), block, after);
  }
  builder_.SetInsertPoint(block);
  llvm::PHINode* const i = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  i->addIncoming(limits.low, before);
  std::vector<llvm::PHINode*> carried;
  Accumulators current;
  for (Value* accumulator : accumulators) {
    carried.push_back(builder_.CreatePHI(accumulator->getType(), 2));
    carried.back()->addIncoming(accumulator, before);
    current.push_back(carried.back());
  }
  define(variable, i);
  current = reduce(level + 1, inner, std::move(current));
  BasicBlock* const latch = builder_.GetInsertBlock();
  Value* const next =
      builder_.CreateAdd(i, builder_.getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
  i->addIncoming(next, latch);
  for (size_t a = 0; a < carried.size(); ++a) carried[a]->addIncoming(current[a], latch);
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, limits.high), block, after);
  builder_.SetInsertPoint(after);
  if (limits.guards.empty()) return current;
  for (size_t a = 0; a < current.size(); ++a) {
    llvm::PHINode* const joined = builder_.CreatePHI(current[a]->getType(), 2);
    joined->addIncoming(accumulators[a], before);
    joined->addIncoming(current[a], latch);
    current[a] = joined;
  }
  return current;
}

StageEmitter::Accumulators StageEmitter::body(const AxisFrame& frame, Accumulators accumulators) {
  const expression::Stage& stage = nest_.stage;
  const ElementType type = Arithmetic::computed(stage.accumulation);
  const std::vector<Point> outputs = points(frame, false);
  for (size_t p = 0; p < outputs.size(); ++p) {
    for (Point point : points(outputs[p].frame, true)) {
      int64_t active = width_;
      if (point.lanes.atom >= 0) {
        active = point.lanes.active;
      } else {
        point.lanes = outputs[p].lanes;
      }
      Value* value =
          arithmetic_.convert(evaluate(stage.body, point, arithmetic_, access_, nullptr), type)
              .value;
      if (active < width_) {
        // Lanes beyond the end of a reduction axis must not count.
        std::vector<llvm::Constant*> bits;
        for (int64_t lane = 0; lane < width_; ++lane) {
          bits.push_back(builder_.getInt1(lane < active));
        }
        value = builder_.CreateSelect(llvm::ConstantVector::get(bits), value,
                                      arithmetic_.identity(stage.reduction, type));
      }
      Value*& accumulator = accumulators[p * static_cast<size_t>(reduction_points_) +
                                         static_cast<size_t>(point.number)];
      accumulator = arithmetic_.combine(stage.reduction, type, accumulator, value);
    }
  }
  return accumulators;
}

namespace {

/// Whether `read` is a factor of this product.
bool is_factor(const Scalar& product, const Scalar& read) {
  switch (product.kind()) {
    case Scalar::Kind::Read:
      return product == read;
    case Scalar::Kind::Cast:
      return is_factor(product.operand(0), read);
    case Scalar::Kind::Binary:
      return product.binary_function() == expression::Binary::Multiply &&
             (is_factor(product.operand(0), read) || is_factor(product.operand(1), read));
    default:
      return false;
  }
}

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

bool is_neutral_outside(const expression::Stage& stage, const Scalar& read) {
  switch (stage.reduction) {
    case Reduction::Sum:
      return stage.fill == 0 && is_factor(stage.body, read);
    case Reduction::Maximum:
      return stage.fill <= -3e38 && stage.body == read;
    case Reduction::Minimum:
      return stage.fill >= 3e38 && stage.body == read;
    default:
      return false;
  }
}

StageEmitter::Bounds StageEmitter::bounds(int loop, const LinearForm& variable,
                                          const AxisFrame& frame, int64_t full) {
  Bounds result{builder_.getInt64(0), builder_.getInt64(static_cast<uint64_t>(full)), {}};
  // Loops further in have no value yet: a guard that depends on one cannot bound this loop.
  AxisFrame probe = frame;
  std::vector<int> inner;
  probe.bind(loop, variable);
  for (const int other : loops_) {
    if (probe.bound(other)) continue;
    const LinearForm unknown = atoms_.lane(std::max<int64_t>(axes_.at(other).relation.extent, 1));
    inner.push_back(unknown.terms.at(0).atom);
    probe.bind(other, unknown);
  }
  for (const Scalar& read : expression::reads(nest_.stage.body)) {
    if (!is_neutral_outside(nest_.stage, read)) continue;
    std::vector<Guard> guards;
    std::vector<LinearForm> indices;
    for (const expression::Index& index : read.indices()) {
      indices.push_back(probe.form(index, atoms_, &guards));
    }
    for (const Guard& guard :
         open_guards(tensor(read.tensor()), indices, std::move(guards), frame)) {
      const auto term =
          std::find_if(guard.form.terms.begin(), guard.form.terms.end(),
                       [&](const auto& t) { return t.atom == variable.terms.at(0).atom; });
      if (term == guard.form.terms.end()) continue;
      const int64_t coefficient = term->coefficient;
      const LinearForm rest = guard.form - variable * coefficient;
      const bool known = !atoms_.depends(rest, variable.terms[0].atom) &&
                         std::none_of(inner.begin(), inner.end(),
                                      [&](int atom) { return atoms_.depends(rest, atom); });
      const bool repeated =
          std::find(result.guards.begin(), result.guards.end(), guard) != result.guards.end();
      if (!known || repeated) continue;
      // low <= coefficient * i + rest < high, with floored quotients.
      const int64_t step = std::abs(coefficient);
      const auto ceil_of = [&](const LinearForm& f) {
        const LinearForm shifted = f + (step - 1);
        return shifted.is_constant() ? LinearForm(floor_quotient(shifted.constant, step))
                                     : atoms_.quotient(shifted, step);
      };
      LinearForm low = ceil_of(LinearForm(guard.low) - rest);
      LinearForm high = ceil_of(LinearForm(guard.high) - rest);
      if (coefficient < 0) {
        low = ceil_of(rest - guard.high + 1);
        high = ceil_of(rest - guard.low + 1);
      }
      result.low =
          builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, result.low, access_.emit(low));
      result.high =
          builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, result.high, access_.emit(high));
      result.guards.push_back(guard);
    }
  }
  return result;
}

}  // namespace opsmith::compiler
