#include "runtime/executor/layout/assignment.h"

#include <algorithm>
#include <map>

#include "runtime/executor/layout/access.h"
#include "support/error.h"

namespace opsmith::executor {
namespace {

using schedule::Layout;
using Halos = std::vector<Layout::Halo>;

void widen(Halos& halo, const Halos& by) {
  if (by.empty()) return;
  halo.resize(std::max(halo.size(), by.size()));
  for (size_t i = 0; i < by.size(); ++i) {
    halo[i].before = std::max(halo[i].before, by[i].before);
    halo[i].after = std::max(halo[i].after, by[i].after);
  }
}

bool covers(const Layout& layout, const Halos& needed) {
  for (size_t i = 0; i < needed.size(); ++i) {
    Layout::Halo own = layout.halo_of(static_cast<int>(i));
    if (own.before < needed[i].before || own.after < needed[i].after) return false;
  }
  return true;
}

class Assignment {
 public:
  Assignment(OperationList& list, int64_t block) : list_(list), block_(block) {}

  void run() {
    choose_blocked();
    gather_halos();
    std::vector<Operation> operations;
    std::swap(operations, list_.operations);
    for (Operation& operation : operations) {
      std::vector<Access> accesses;
      for (size_t i = 0; i < operation.inputs.size(); ++i) {
        if (operation.inputs[i] == graph::kNoValue) {
          accesses.emplace_back();
        } else {
          accesses.push_back(access_of(operation, i, list_, blocked_, block_));
        }
      }
      for (ValueId id : operation.outputs) {
        if (id != graph::kNoValue && list_.value(id).shape) set_primary(id, operation);
      }
      for (size_t i = 0; i < operation.inputs.size(); ++i) {
        ValueId id = operation.inputs[i];
        if (id != graph::kNoValue) replace_input(operation, i, provide(id, accesses[i]));
      }
      list_.operations.push_back(std::move(operation));
    }
    for (ValueId& id : list_.outputs) id = provide(id, {});
  }

 private:
  // Whether each value lies in blocks where it is made.
  void choose_blocked() {
    blocked_.assign(list_.values.size(), false);
    for (Operation& operation : list_.operations) {
      if (operation.outputs.empty() || operation.outputs[0] == graph::kNoValue) continue;
      const PlanValue& output = list_.value(operation.outputs[0]);
      if (!can_block(output, block_)) continue;
      auto is_blocked = [&](ValueId id) {
        return id != graph::kNoValue && blocked_[static_cast<size_t>(id)];
      };
      bool answer = false;
      switch (layout_role(operation, list_)) {
        case LayoutRole::Contraction:
          answer = true;
          break;
        case LayoutRole::Elementwise:
        case LayoutRole::Window:
          answer = std::any_of(operation.inputs.begin(), operation.inputs.end(), is_blocked);
          break;
        case LayoutRole::Accumulation:
          break;
        case LayoutRole::RowMajor:
          if (can_join(operation) &&
              std::all_of(operation.inputs.begin(), operation.inputs.end(), is_blocked)) {
            operation.kind = Operation::Kind::Join;
            answer = true;
          }
          break;
      }
      blocked_[static_cast<size_t>(operation.outputs[0])] = answer;
    }
  }

  bool can_join(const Operation& operation) const {
    if (operation.kind != Operation::Kind::Plain || operation.type != "Concat") return false;
    const PlanValue& output = list_.value(operation.outputs[0]);
    int64_t axis = operation.node->integer("axis", 1);
    auto rank = static_cast<int64_t>(output.shape->size());
    if ((axis < 0 ? axis + rank : axis) != 1 || rank > 4) return false;
    return std::all_of(operation.inputs.begin(), operation.inputs.end(),
                       [&](ValueId id) { return list_.value(id).shape->at(1) % block_ == 0; });
  }

  void gather_halos() {
    blocked_halo_.resize(list_.values.size());
    plain_halo_.resize(list_.values.size());
    exact_.assign(list_.values.size(), false);
    for (const Operation& operation : list_.operations) {
      for (size_t i = 0; i < operation.inputs.size(); ++i) {
        ValueId id = operation.inputs[i];
        if (id == graph::kNoValue) continue;
        Access access = access_of(operation, i, list_, blocked_, block_);
        auto at = static_cast<size_t>(id);
        if (access.need == Access::Need::RowMajor) exact_[at] = true;
        bool in_blocks = access.need == Access::Need::Blocked ||
                         (access.need == Access::Need::Any && blocked_[at]);
        widen(in_blocks ? blocked_halo_[at] : plain_halo_[at], access.halo);
      }
    }
    for (ValueId id : list_.outputs) exact_[static_cast<size_t>(id)] = true;
    while (share_halos_of_joins()) {
    }
  }

  // Parts with the halo of the whole can be made in its place (see place_parts of the plan).
  bool share_halos_of_joins() {
    bool changed = false;
    for (const Operation& operation : list_.operations) {
      if (operation.kind != Operation::Kind::Join) continue;
      Halos widest = blocked_halo_[static_cast<size_t>(operation.outputs[0])];
      for (ValueId id : operation.inputs) widen(widest, blocked_halo_[static_cast<size_t>(id)]);
      auto assign = [&](ValueId id) {
        Halos& own = blocked_halo_[static_cast<size_t>(id)];
        changed = changed || own != widest;
        own = widest;
      };
      assign(operation.outputs[0]);
      for (ValueId id : operation.inputs) assign(id);
    }
    return changed;
  }

  void set_primary(ValueId id, const Operation& maker) {
    PlanValue& value = list_.value(id);
    auto at = static_cast<size_t>(id);
    if (at >= blocked_.size()) return;
    if (blocked_[at]) {
      value.layout = Layout::channel_blocked(value.shape->size(), block_);
      value.layout.halo = blocked_halo_[at];
    } else {
      value.layout = Layout::row_major(value.shape->size());
      bool free = maker.kind == Operation::Kind::Expression && !exact_[at];
      if (free) value.layout.halo = plain_halo_[at];
    }
  }

  bool satisfies(const PlanValue& value, const Access& access) const {
    bool in_blocks = value.layout.block_of(1) > 1;
    switch (access.need) {
      case Access::Need::RowMajor:
        return same_as_row_major(value.layout, *value.shape);
      case Access::Need::Blocked:
        return in_blocks && covers(value.layout, access.halo);
      case Access::Need::Plain:
        return !in_blocks && covers(value.layout, access.halo);
      case Access::Need::Any:
        return true;
    }
    return false;
  }

  // The value itself, or a copy of it in a layout that satisfies the access.
  ValueId provide(ValueId id, const Access& access) {
    if (!list_.value(id).shape) return id;
    if (list_.value(id).constant) return provide_constant(id, access);
    if (satisfies(list_.value(id), access)) return id;
    auto key = std::make_pair(id, access.need);
    auto found = copies_.find(key);
    if (found != copies_.end()) return found->second;
    PlanValue copy = list_.value(id);
    auto at = static_cast<size_t>(id);
    size_t rank = copy.shape->size();
    bool in_blocks = access.need == Access::Need::Blocked;
    copy.layout = in_blocks ? Layout::channel_blocked(rank, block_) : Layout::row_major(rank);
    if (in_blocks) copy.layout.halo = blocked_halo_[at];
    if (access.need == Access::Need::Plain) copy.layout.halo = plain_halo_[at];
    Operation convert;
    convert.kind = Operation::Kind::Convert;
    convert.name = copy.name;
    convert.type = "layout";
    convert.inputs = {id};
    ValueId copied = list_.add(std::move(copy));
    convert.outputs = {copied};
    list_.operations.push_back(std::move(convert));
    copies_[key] = copied;
    return copied;
  }

  // Constants are packed while planning: a further value, no step.
  ValueId provide_constant(ValueId id, const Access& access) {
    bool in_blocks = access.need == Access::Need::Blocked;
    if (!in_blocks && access.halo.empty()) return id;
    auto key = std::make_pair(id, access.need);
    auto found = copies_.find(key);
    if (found != copies_.end()) return found->second;
    PlanValue copy = list_.value(id);
    auto at = static_cast<size_t>(id);
    size_t rank = copy.shape->size();
    copy.layout = in_blocks ? Layout::channel_blocked(rank, block_) : Layout::row_major(rank);
    copy.layout.halo = in_blocks ? blocked_halo_[at] : plain_halo_[at];
    ValueId copied = list_.add(std::move(copy));
    copies_[key] = copied;
    return copied;
  }

  static void replace_input(Operation& operation, size_t i, ValueId replacement) {
    ValueId original = operation.inputs[i];
    if (original == replacement) return;
    operation.inputs[i] = replacement;
    if (operation.kind != Operation::Kind::Expression) return;
    std::string from = tensor_name(original), to = tensor_name(replacement);
    for (auto* declarations : {&operation.program.inputs, &operation.program.weights}) {
      for (expression::TensorDeclaration& declaration : *declarations) {
        if (declaration.name == from) declaration.name = to;
      }
    }
    auto rename = [&](const expression::Scalar& scalar) {
      bool matches = scalar.kind() == expression::Scalar::Kind::Read && scalar.tensor() == from;
      return matches ? expression::Scalar::read(to, scalar.indices()) : scalar;
    };
    for (expression::Stage& stage : operation.program.stages) {
      stage.body = transform(stage.body, rename);
      if (stage.epilogue) stage.epilogue = transform(*stage.epilogue, rename);
    }
  }

  OperationList& list_;
  int64_t block_;
  std::vector<bool> blocked_;
  std::vector<Halos> blocked_halo_, plain_halo_;
  std::vector<bool> exact_;  // a reader or the graph's output wants exactly row-major
  std::map<std::pair<ValueId, Access::Need>, ValueId> copies_;
};

}  // namespace

bool same_as_row_major(const Layout& layout, const Shape& shape) {
  if (layout.is_row_major()) return true;
  if (layout.storage_count(shape) != element_count(shape)) return false;
  // Blocks of channels over a single pixel.
  return layout.block_of(1) > 1 && shape[1] % layout.block_of(1) == 0 &&
         layout.order == Layout::channel_blocked(shape.size(), layout.block_of(1)).order &&
         element_count(shape) == shape[0] * shape[1];
}

void assign_layouts(OperationList& list, int64_t block) { Assignment(list, block).run(); }

}  // namespace opsmith::executor
