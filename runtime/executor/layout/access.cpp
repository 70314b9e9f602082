#include "runtime/executor/layout/access.h"

#include <algorithm>
#include <set>

#include "runtime/schedule/variants/variant.h"

namespace opsmith::executor {
namespace {

using expression::Index;
using expression::Program;
using expression::Scalar;
using expression::Stage;
using schedule::Layout;

constexpr int64_t kWidestHalo = 8;  // farther reads are tested at run time instead

std::vector<Scalar> reads_of(const Program& program, const std::string& tensor) {
  std::vector<Scalar> found;
  for (const Stage& stage : program.stages) {
    for (const Scalar& read : expression::reads(stage.body)) {
      if (read.tensor() == tensor) found.push_back(read);
    }
    if (!stage.epilogue) continue;
    for (const Scalar& read : expression::reads(*stage.epilogue)) {
      if (read.tensor() == tensor) found.push_back(read);
    }
  }
  return found;
}

bool is_identity(const Scalar& read, const Stage& stage) {
  if (read.indices().size() != stage.axes.size()) return false;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    const Index& index = read.indices()[i];
    if (index.kind() != Index::Kind::Iterator || index.name() != stage.axes[i].name) return false;
  }
  return true;
}

bool spatial(const Shape& shape) { return element_count(shape) > shape.at(0) * shape.at(1); }

/// Data runs over the batch; weights do not. The index of a batch of one is a plain 0.
bool runs_over_batch(const Program& program, const Stage& stage, const Scalar& read) {
  const Index& first = read.indices().at(0);
  if (first.kind() == Index::Kind::Iterator) return first.name() == stage.axes[0].name;
  const bool single = first.is_constant(0) && stage.axes[0].extent.is_constant(1) &&
                      program.shape_of(read.tensor()).at(0).is_constant(1);
  return single && std::any_of(program.inputs.begin(), program.inputs.end(),
                               [&](const auto& input) { return input.name == read.tensor(); });
}

/// Whether the stage sums over the leading dimension of all images that it reads.
bool sums_over_batch(const Program& program, const Stage& stage) {
  if (stage.reduction != expression::Reduction::Sum || stage.scatters() || stage.epilogue) {
    return false;
  }
  std::string batch;
  for (const Scalar& read : expression::reads(stage.body)) {
    if (program.shape_of(read.tensor()).size() < 3) continue;
    const Index& first = read.indices()[0];
    if (first.kind() != Index::Kind::Iterator) return false;
    if (!batch.empty() && batch != first.name()) return false;
    batch = first.name();
  }
  return std::any_of(stage.reduction_axes.begin(), stage.reduction_axes.end(),
                     [&](const expression::Axis& axis) { return axis.name == batch; });
}

}  // namespace

bool can_block(const PlanValue& value, int64_t block) {
  return value.shape && value.shape->size() >= 3 && value.shape->size() <= 5 &&
         value.type == ElementType::Float32 && (*value.shape)[1] * 2 >= block;
}

LayoutRole layout_role(const Operation& operation, const OperationList& list) {
  static const std::set<std::string> contractions = {"Conv", "ConvTranspose", "opsmith"};
  static const std::set<std::string> windows = {"MaxPool", "AveragePool", "GlobalAveragePool",
                                                "GlobalMaxPool", "ReduceMean"};
  if (operation.kind != Operation::Kind::Expression || operation.program.stages.size() != 1 ||
      operation.outputs.size() != 1) {
    return LayoutRole::RowMajor;
  }
  const Stage& stage = operation.program.stages[0];
  if (operation.type == "opsmith" && sums_over_batch(operation.program, stage)) {
    return LayoutRole::Accumulation;
  }
  if (list.value(operation.outputs[0]).shape->size() < 3) return LayoutRole::RowMajor;
  if (contractions.contains(operation.type)) return LayoutRole::Contraction;
  if (windows.contains(operation.type)) return LayoutRole::Window;
  if (stage.reduction == expression::Reduction::None && !stage.scatters()) {
    return LayoutRole::Elementwise;
  }
  return LayoutRole::RowMajor;
}

/// Rows of a matrix product's operand at a distance of half a page or its multiples fall into the
/// same few sets of the first-level cache, and a register tile of a dozen rows drives itself out of
/// it. One cache line between them mends that; the halo to ask for, empty where none is needed.
std::vector<Layout::Halo> row_padding(const Operation& operation, const PlanValue& value,
                                      const std::string& tensor) {
  constexpr int64_t kHalfPage = 2048;
  constexpr int64_t kLine = 64;
  constexpr int64_t kManyRows = 8;
  if (operation.type != "MatMul" && operation.type != "Gemm") return {};
  if (operation.kind != Operation::Kind::Expression || operation.program.stages.size() != 1) {
    return {};
  }
  const auto rank = static_cast<int64_t>(value.shape ? value.shape->size() : 0);
  if (value.constant || value.type != ElementType::Float32 || rank < 3 || rank > 4) return {};
  if (value.shape->back() * 4 % kHalfPage != 0) return {};
  const Stage& stage = operation.program.stages[0];
  if (stage.reduction_axes.size() != 1) return {};
  const std::string& reduced = stage.reduction_axes[0].name;
  for (const Scalar& read : expression::reads(stage.body)) {
    if (read.tensor() != tensor) continue;
    const Index& row = read.indices()[read.indices().size() - 2];
    const Index& column = read.indices().back();
    const bool by_rows = row.kind() == Index::Kind::Iterator && row.name() != reduced &&
                         column.kind() == Index::Kind::Iterator && column.name() == reduced;
    if (!by_rows || value.shape->at(static_cast<size_t>(rank) - 2) < kManyRows) return {};
  }
  std::vector<Layout::Halo> halo(static_cast<size_t>(rank));
  halo.back().after = kLine / 4;
  return halo;
}

std::vector<Layout::Halo> reach_of(const Program& program, const std::string& tensor) {
  std::vector<Index> shape = program.shape_of(tensor);
  std::vector<Layout::Halo> halo(shape.size());
  bool any = false;
  for (const Stage& stage : program.stages) {
    if (stage.fill != 0) continue;
    expression::Ranges ranges;
    for (const auto* axes : {&stage.axes, &stage.reduction_axes}) {
      for (const expression::Axis& axis : *axes) ranges[axis.name] = {0, axis.extent.value()};
    }
    for (const Scalar& read : expression::reads(stage.body)) {
      if (read.tensor() != tensor) continue;
      for (size_t d = 2; d < shape.size(); ++d) {
        expression::Affine affine;
        if (!expression::as_affine(read.indices()[d], affine)) continue;
        auto range = expression::value_range(read.indices()[d], ranges);
        if (!range) continue;
        int64_t before = std::max<int64_t>(0, -range->begin);
        int64_t after = std::max<int64_t>(0, range->end - shape[d].value());
        if (before > kWidestHalo || after > kWidestHalo) continue;
        halo[d].before = std::max(halo[d].before, before);
        halo[d].after = std::max(halo[d].after, after);
        any = any || before > 0 || after > 0;
      }
    }
  }
  if (!any) halo.clear();
  return halo;
}

Access access_of(const Operation& operation, size_t i, const OperationList& list,
                 const std::vector<bool>& blocked, int64_t block) {
  ValueId id = operation.inputs[i];
  const PlanValue& value = list.value(id);
  if (operation.kind == Operation::Kind::Join) return {Access::Need::Blocked, {}};
  LayoutRole role = layout_role(operation, list);
  if (role == LayoutRole::RowMajor) {
    std::vector<Layout::Halo> padding = row_padding(operation, value, tensor_name(id));
    if (padding.empty()) return {};
    return {Access::Need::Plain, std::move(padding)};
  }
  const Program& program = operation.program;
  const Stage& stage = program.stages[0];
  std::string tensor = tensor_name(id);
  if (role == LayoutRole::Window) return {Access::Need::Any, reach_of(program, tensor)};

  if (role == LayoutRole::Accumulation) {
    if (value.shape->size() < 3) return {};
    return {can_block(value, block) ? Access::Need::Blocked : Access::Need::Plain,
            reach_of(program, tensor)};
  }

  bool output_blocked = blocked[static_cast<size_t>(operation.outputs[0])];
  if (role == LayoutRole::Contraction) {
    for (const Scalar& read : expression::reads(stage.body)) {
      if (read.tensor() != tensor) continue;
      if (!runs_over_batch(program, stage, read))
        return {value.constant ? Access::Need::Any : Access::Need::RowMajor, {}};
      if (!can_block(value, block)) return {Access::Need::Plain, reach_of(program, tensor)};
      std::vector<Layout::Halo> halo;
      if (list.variants) halo = schedule::variant_reach(program, tensor);
      return {Access::Need::Blocked, halo.empty() ? reach_of(program, tensor) : halo};
    }
  }
  // Element by element beside the output: in the output's layout, unless it is a broadcast.
  std::vector<Scalar> reads = reads_of(program, tensor);
  bool full = std::any_of(reads.begin(), reads.end(),
                          [&](const Scalar& read) { return is_identity(read, stage); });
  if (!full || !can_block(value, block) || !spatial(*value.shape)) return {Access::Need::Any, {}};
  return {output_blocked ? Access::Need::Blocked : Access::Need::Plain, {}};
}

}  // namespace opsmith::executor
