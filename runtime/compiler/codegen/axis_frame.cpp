#include "runtime/compiler/codegen/axis_frame.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::compiler {

using expression::Index;

AxisTable::AxisTable(const StageNest& nest) {
  for (const auto& [name, relation] : nest.axes) {
    ids_[name] = static_cast<int>(axes_.size());
    axes_.push_back({relation, -1, -1, -1});
  }
  for (size_t i = 0; i < axes_.size(); ++i) {
    Axis& axis = axes_[i];
    if (axis.relation.kind == AxisRelation::Kind::Loop) continue;
    axis.first = id(axis.relation.first);
    if (axis.relation.kind != AxisRelation::Kind::Split) continue;
    axis.second = id(axis.relation.second);
    axes_[static_cast<size_t>(axis.first)].parent = static_cast<int>(i);
  }
}

int AxisTable::id(const std::string& name) const {
  const auto found = ids_.find(name);
  require(found != ids_.end(), "index over unknown iterator '" + name + "'");
  return found->second;
}

AxisFrame::AxisFrame(const AxisTable& table)
    : table_(&table), value_(table.size()), bound_(table.size(), false), origin_(table.size()) {
  for (size_t i = 0; i < table.size(); ++i) {
    extent_.push_back(table.at(static_cast<int>(i)).relation.extent);
  }
}

AxisFrame::Count AxisFrame::count(int loop) const {
  const int parent = table_->at(loop).parent;
  if (parent < 0) return {extent(loop), false};
  const int64_t factor = table_->at(parent).relation.factor;
  return {extent(parent) / factor, extent(parent) % factor != 0};
}

void AxisFrame::bind(int loop, const LinearForm& value) {
  value_[static_cast<size_t>(loop)] = value;
  bound_[static_cast<size_t>(loop)] = true;
  const int parent = table_->at(loop).parent;
  if (parent < 0) return;
  const AxisTable::Axis& split = table_->at(parent);
  extent_[static_cast<size_t>(split.second)] = split.relation.factor;
}

void AxisFrame::bind_rest(int loop) {
  const int parent = table_->at(loop).parent;
  require(parent >= 0, "a loop without a rest has no last iteration of its own");
  const AxisTable::Axis& split = table_->at(parent);
  value_[static_cast<size_t>(loop)] = extent(parent) / split.relation.factor;
  bound_[static_cast<size_t>(loop)] = true;
  extent_[static_cast<size_t>(split.second)] = extent(parent) % split.relation.factor;
}

void AxisFrame::fix(int axis, const LinearForm& value) {
  value_[static_cast<size_t>(axis)] = value;
  bound_[static_cast<size_t>(axis)] = true;
}

void AxisFrame::place(int axis, const LinearForm& origin, int64_t extent) {
  origin_[static_cast<size_t>(axis)] = origin;
  const int64_t most = extent_[static_cast<size_t>(axis)];
  require(extent <= most, "the part of a stage that is needed grows");
  if (table_->at(axis).relation.kind == AxisRelation::Kind::Loop ||
      table_->at(axis).relation.kind == AxisRelation::Kind::Split) {
    extent_[static_cast<size_t>(axis)] = extent;
  }
}

LinearForm AxisFrame::value(int axis, Atoms& atoms) const {
  const LinearForm& origin = origin_[static_cast<size_t>(axis)];
  if (bound(axis)) return value_[static_cast<size_t>(axis)] + origin;
  const AxisTable::Axis& entry = table_->at(axis);
  switch (entry.relation.kind) {
    case AxisRelation::Kind::Split:
      return value(entry.first, atoms) * entry.relation.factor + value(entry.second, atoms) +
             origin;
    case AxisRelation::Kind::FusedOuter:
      return atoms.quotient(value(entry.first, atoms), entry.relation.factor) + origin;
    case AxisRelation::Kind::FusedInner:
      return atoms.remainder(value(entry.first, atoms), entry.relation.factor) + origin;
    default:
      throw InternalError("an axis is used before its loop");
  }
}

LinearForm AxisFrame::form(const Index& index, Atoms& atoms, std::vector<Guard>* guards) const {
  switch (index.kind()) {
    case Index::Kind::Constant:
      return index.value();
    case Index::Kind::Iterator:
      return value(table_->id(index.name()), atoms);
    case Index::Kind::Symbol:
      throw InternalError("size '" + index.name() + "' is not bound");
    default:
      break;
  }
  const LinearForm left = form(index.left(), atoms, guards);
  const LinearForm right = form(index.right(), atoms, guards);
  const auto divisor = [&] {
    if (!right.is_constant() || right.constant <= 0) {
      throw Unsupported("division in an index by '" + to_string(index.right()) +
                        "', which is no positive number");
    }
    return right.constant;
  };
  switch (index.kind()) {
    case Index::Kind::Add:
      return left + right;
    case Index::Kind::Sub:
      return left - right;
    case Index::Kind::Mul:
      return atoms.product(left, right);
    case Index::Kind::FloorDiv:
      return atoms.quotient(left, divisor());
    case Index::Kind::Mod:
      return atoms.remainder(left, divisor());
    default:
      if (guards != nullptr) {
        require(right.is_constant(), "the extent of a 'within' is not bound");
        guards->push_back({left, 0, right.constant});
      }
      return left;
  }
}

bool AxisFrame::assumes(const Guard& guard) const {
  return std::any_of(assumed_.begin(), assumed_.end(), [&](const Guard& known) {
    return known.form == guard.form && known.low >= guard.low && known.high <= guard.high;
  });
}

}  // namespace opsmith::compiler
