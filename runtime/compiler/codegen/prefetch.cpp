#include <llvm/IR/Intrinsics.h>

#include "runtime/compiler/codegen/stage_emitter.h"

// Asking for what the end of a register tile touches before its reduction begins.

namespace opsmith::compiler {
namespace {

/// Reductions shorter than this end before the data could arrive.
constexpr int64_t kWorthPrefetch = 128;

}  // namespace

void StageEmitter::prefetch_results(const std::vector<Point>& outputs) {
  const expression::Stage& stage = nest_.stage;
  // What is computed inside another stage stays in the cache.
  if (stage.scatters() || phase_.origins.contains(stage.name)) return;
  if (reduction_steps() < kWorthPrefetch) return;
  std::vector<std::pair<const TensorPlace*, std::vector<expression::Index>>> places;
  std::vector<expression::Index> position;
  for (const expression::Axis& axis : stage.axes) {
    position.push_back(expression::Index::iterator(axis.name));
  }
  places.emplace_back(&tensor(stage.name), position);
  if (stage.epilogue) {
    // A residual; other operands are small and used again.
    for (const expression::Scalar& read : expression::reads(*stage.epilogue)) {
      if (read.indices() != position || phase_.origins.contains(read.tensor())) continue;
      places.emplace_back(&tensor(read.tensor()), position);
    }
  }
  for (const Point& point : outputs) {
    for (const auto& [place, indices] : places) {
      std::vector<LinearForm> forms;
      for (const expression::Index& index : indices) {
        forms.push_back(point.frame.form(index, atoms_, nullptr));
      }
      access_.prefetch(*place, forms, point.lanes, place == places.front().first);
    }
  }
}

int64_t StageEmitter::reduction_steps() const {
  int64_t steps = 1;
  for (const expression::Axis& axis : nest_.stage.reduction_axes) {
    steps *= expression::simplify(axis.extent).value();
  }
  return steps;
}

}  // namespace opsmith::compiler
