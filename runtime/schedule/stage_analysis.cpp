#include "runtime/schedule/stage_analysis.h"

#include <algorithm>

#include "runtime/expression/visit.h"

namespace opsmith::schedule {
namespace {

using expression::Binding;
using expression::Index;
using expression::Scalar;

Shape numbers(const std::vector<Index>& shape) {
  Shape result;
  for (const Index& extent : shape) result.push_back(expression::simplify(extent).value());
  return result;
}

void set_axis(Binding& point, const LoopAxis& axis, int64_t value) {
  for (size_t i = axis.parts.size(); i-- > 0;) {
    const LoopAxis::Part& part = axis.parts[i];
    point[part.name] = i == 0 ? value : value % part.extent;
    value /= std::max<int64_t>(part.extent, 1);
  }
}

void collect_iterators(const Index& index, std::vector<std::string>& names) {
  switch (index.kind()) {
    case Index::Kind::Constant:
    case Index::Kind::Symbol:
      return;
    case Index::Kind::Iterator:
      names.push_back(index.name());
      return;
    default:
      collect_iterators(index.left(), names);
      collect_iterators(index.right(), names);
  }
}

/// Every index inside that must stay in a range: the index itself and arguments of `within`.
bool may_leave(const Index& index, const expression::Ranges& ranges) {
  switch (index.kind()) {
    case Index::Kind::Constant:
    case Index::Kind::Symbol:
    case Index::Kind::Iterator:
      return false;
    case Index::Kind::Within: {
      const auto range = expression::value_range(index.left(), ranges);
      const Index extent = expression::simplify(index.right());
      return !range || range->begin < 0 || range->end > extent.value() ||
             may_leave(index.left(), ranges);
    }
    default:
      return may_leave(index.left(), ranges) || may_leave(index.right(), ranges);
  }
}

}  // namespace

StageAnalysis::StageAnalysis(const expression::Program& program, const expression::Stage& stage,
                             const std::map<std::string, Layout>& layouts)
    : stage_(&stage) {
  const auto add = [&](const std::string& tensor, const std::vector<Index>& indices, bool in_body,
                       bool write) {
    const auto given = layouts.find(tensor);
    accesses_.push_back({tensor, indices,
                         given == layouts.end() ? Layout::row_major(indices.size()) : given->second,
                         numbers(program.shape_of(tensor)), in_body, write});
  };
  for (const Scalar& read : expression::reads(stage.body)) {
    add(read.tensor(), read.indices(), true, false);
  }
  if (stage.epilogue) {
    for (const Scalar& read : expression::reads(*stage.epilogue)) {
      add(read.tensor(), read.indices(), false, false);
    }
  }
  std::vector<Index> position;
  for (const expression::Axis& axis : stage.axes) position.push_back(Index::iterator(axis.name));
  add(stage.name, stage.scatters() ? stage.target : position, false, true);
  for (const auto* axes : {&stage.axes, &stage.reduction_axes}) {
    for (const expression::Axis& axis : *axes) {
      const int64_t extent = expression::simplify(axis.extent).value();
      const LoopAxis loop{axis.name, extent, axes == &stage.reduction_axes, {{axis.name, extent}}};
      (extent == 1 ? unit_axes_ : axes_).push_back(loop);
      origin_[axis.name] = 0;
    }
  }
}

void StageAnalysis::mark_packable(const std::string& tensor) {
  for (Access& access : accesses_) access.packable = access.packable || access.tensor == tensor;
}

int64_t StageAnalysis::offset(const Access& access, const Binding& point) const {
  Shape position;
  for (const Index& index : access.indices) position.push_back(expression::evaluate(index, point));
  return access.layout.offset(access.shape, position);
}

Movement StageAnalysis::movement(const Access& access, const LoopAxis& axis, int64_t lanes) const {
  std::vector<std::string> used;
  for (const Index& index : access.indices) collect_iterators(index, used);
  const bool depends = std::any_of(axis.parts.begin(), axis.parts.end(), [&](const auto& part) {
    return std::find(used.begin(), used.end(), part.name) != used.end();
  });
  if (!depends || axis.extent <= 1) return Movement::Still;
  if (access.packable && !axis.reduction && axis.parts.size() == 1) {
    for (const Index& index : access.indices) {
      if (index == Index::iterator(axis.name)) return Movement::NextElement;
    }
  }
  bool next_seen = false;
  bool still_seen = false;
  // The first blocks and the last whole one.
  const int64_t blocks = std::max<int64_t>(axis.extent / lanes, 1);
  for (const int64_t block : {int64_t{0}, int64_t{1}, int64_t{2}, blocks - 1}) {
    if (block >= blocks) continue;
    Binding point = origin_;
    set_axis(point, axis, block * lanes);
    const int64_t first = offset(access, point);
    bool still = true;
    bool next = true;
    for (int64_t i = 1; i < std::min(lanes, axis.extent); ++i) {
      set_axis(point, axis, block * lanes + i);
      const int64_t distance = offset(access, point) - first;
      still = still && distance == 0;
      next = next && distance == i;
    }
    if (!still && !next) return Movement::Elsewhere;
    next_seen = next_seen || next;
    still_seen = still_seen || still;
  }
  if (next_seen && still_seen) return Movement::Elsewhere;
  return next_seen ? Movement::NextElement : Movement::Still;
}

bool StageAnalysis::fusable(const LoopAxis& outer, const LoopAxis& inner) const {
  if (outer.reduction != inner.reduction) return false;
  if (outer.extent < 1 || inner.extent < 1) return false;
  for (const Access& access : accesses_) {
    if (leaves(access)) return false;
    const auto at = [&](int64_t o, int64_t i) {
      Binding point = origin_;
      set_axis(point, outer, o);
      set_axis(point, inner, i);
      return offset(access, point);
    };
    const int64_t step = at(0, 1) - at(0, 0);
    const int64_t last = inner.extent - 1;
    // Linear in the inner axis, and the next outer iteration goes on where the inner one ended.
    for (const int64_t i : {int64_t{1}, inner.extent / 2, last}) {
      if (at(0, i) - at(0, 0) != i * step) return false;
    }
    for (const int64_t o : {int64_t{1}, outer.extent / 2, outer.extent - 1}) {
      if (at(o, 0) - at(o - 1, last) != step || at(o, last) - at(o, 0) != last * step) return false;
    }
  }
  return true;
}

void StageAnalysis::fuse(size_t i) {
  LoopAxis& outer = axes_[i];
  const LoopAxis inner = axes_[i + 1];
  outer.name += "*" + inner.name;
  outer.extent *= inner.extent;
  outer.parts.insert(outer.parts.end(), inner.parts.begin(), inner.parts.end());
  axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
}

bool StageAnalysis::leaves(const Access& access, std::vector<std::string>* axes) const {
  const expression::Ranges ranges = expression::ranges_of(*stage_);
  bool any = false;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    const Index& index = access.indices[d];
    Layout::Halo halo = access.layout.halo_of(static_cast<int>(d));
    if (stage_->fill != 0 || access.layout.block_of(static_cast<int>(d)) != 1) halo = {};
    const auto range = expression::value_range(index, ranges);
    const bool inside =
        range && range->begin >= -halo.before && range->end <= access.shape[d] + halo.after;
    if (inside && !may_leave(index, ranges)) continue;
    any = true;
    if (axes != nullptr) collect_iterators(index, *axes);
  }
  return any;
}

int64_t StageAnalysis::output_volume() const {
  int64_t volume = 1;
  for (const LoopAxis& axis : axes_) volume *= axis.reduction ? 1 : axis.extent;
  return volume;
}

int64_t StageAnalysis::reduction_volume() const {
  int64_t volume = 1;
  for (const LoopAxis& axis : axes_) volume *= axis.reduction ? axis.extent : 1;
  return volume;
}

}  // namespace opsmith::schedule
