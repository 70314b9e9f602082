#include "runtime/executor/fusion/elementwise.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace opsmith::executor {
namespace {

using expression::Index;
using expression::Program;
using expression::Scalar;
using expression::Stage;

constexpr size_t kMostMembers = 12;       // of one fused region
constexpr size_t kMostScalarNodes = 256;  // of a fused expression, which is a tree

bool is_elementwise(const Operation& operation) {
  if (operation.kind != Operation::Kind::Expression) return false;
  const Program& program = operation.program;
  return program.stages.size() == 1 && operation.outputs.size() == 1 &&
         program.stages[0].reduction == expression::Reduction::None &&
         !program.stages[0].scatters();
}

bool reads_identity(const Scalar& read, const Stage& stage) {
  if (read.indices().size() != stage.axes.size()) return false;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    const Index& index = read.indices()[i];
    if (index.kind() != Index::Kind::Iterator || index.name() != stage.axes[i].name) return false;
  }
  return true;
}

std::optional<Scalar> result_of(const Stage& stage) {
  if (stage.epilogue) return *stage.epilogue;
  if (stage.reduction == expression::Reduction::None) return stage.body;
  return Scalar::reduced();
}

size_t tree_size(const Scalar& scalar, size_t limit) {
  size_t size = 1;
  for (const Scalar& operand : scalar.operands()) {
    if (size > limit) break;
    size += tree_size(operand, limit - size);
  }
  return size;
}

class Fusion {
 public:
  explicit Fusion(OperationList& list) : list_(list), removed_(list.operations.size(), false) {}

  int run() {
    readers_ = list_.readers();
    int fused = 0;
    for (size_t i = 0; i < list_.operations.size(); ++i) {
      while (!removed_[i]) {
        std::optional<size_t> place = absorb(i);
        if (!place) break;
        ++fused;
        if (*place != i) break;  // goes on when the loop reaches its new place
      }
    }
    size_t position = 0;
    std::erase_if(list_.operations, [&](const Operation&) { return removed_[position++]; });
    return fused;
  }

 private:
  const Operation& operation(size_t i) const { return list_.operations[i]; }

  // The readers of `value` and of what they make, grown until exactly one value leaves the region.
  std::optional<std::set<size_t>> region_after(ValueId value, const Shape& shape) const {
    std::set<size_t> region;
    auto add_readers = [&](ValueId id) {
      if (list_.is_output(id)) return false;
      for (size_t reader : readers_[static_cast<size_t>(id)]) {
        const Operation& candidate = operation(reader);
        if (!is_elementwise(candidate) || *list_.value(candidate.outputs[0]).shape != shape ||
            list_.value(candidate.outputs[0]).type != list_.value(value).type) {
          return false;
        }
        region.insert(reader);
      }
      return !readers_[static_cast<size_t>(id)].empty();
    };
    if (!add_readers(value)) return std::nullopt;
    while (region.size() <= kMostMembers) {
      // Values that leave the region: outputs of members with a reader outside it.
      std::vector<ValueId> leaving;
      for (size_t member : region) {
        ValueId output = operation(member).outputs[0];
        const auto& readers = readers_[static_cast<size_t>(output)];
        bool inside = !readers.empty() && !list_.is_output(output) &&
                      std::all_of(readers.begin(), readers.end(),
                                  [&](size_t reader) { return region.contains(reader); });
        if (!inside) leaving.push_back(output);
      }
      if (leaving.size() == 1) return region;
      // All but the last must be swallowed; they come in order.
      if (!add_readers(leaving.front())) return std::nullopt;
    }
    return std::nullopt;
  }

  // Rewrites a member's expression over the anchor's axes, with the values of the region in place
  // of their reads; nullopt when one of them is not read element by element.
  std::optional<Scalar> inlined(const Operation& member, const Stage& anchor,
                                const std::map<std::string, Scalar>& inside) const {
    const Stage& stage = member.program.stages[0];
    std::map<std::string, Index> axes;
    for (size_t i = 0; i < stage.axes.size(); ++i) {
      axes.emplace(stage.axes[i].name, Index::iterator(anchor.axes[i].name));
    }
    auto replace = [&](const Index& leaf) -> const Index* {
      if (leaf.kind() != Index::Kind::Iterator) return nullptr;
      auto found = axes.find(leaf.name());
      return found == axes.end() ? nullptr : &found->second;
    };
    bool fits = true;
    Scalar whole = stage.epilogue ? *stage.epilogue : stage.body;
    std::function<Scalar(const Scalar&)> rewrite = [&](const Scalar& scalar) -> Scalar {
      switch (scalar.kind()) {
        case Scalar::Kind::Read: {
          auto found = inside.find(scalar.tensor());
          if (found != inside.end()) {
            fits = fits && reads_identity(scalar, stage);
            return found->second;
          }
          std::vector<Index> indices;
          for (const Index& index : scalar.indices()) indices.push_back(substitute(index, replace));
          return Scalar::read(scalar.tensor(), std::move(indices));
        }
        case Scalar::Kind::Position:
          return Scalar::position(substitute(scalar.indices()[0], replace));
        case Scalar::Kind::Unary:
          return Scalar::unary(scalar.unary_function(), rewrite(scalar.operand(0)));
        case Scalar::Kind::Binary:
          return Scalar::binary(scalar.binary_function(), rewrite(scalar.operand(0)),
                                rewrite(scalar.operand(1)));
        case Scalar::Kind::Select:
          return Scalar::select(rewrite(scalar.operand(0)), rewrite(scalar.operand(1)),
                                rewrite(scalar.operand(2)));
        case Scalar::Kind::Cast:
          return Scalar::cast(scalar.type(), rewrite(scalar.operand(0)));
        case Scalar::Kind::Constant:
        case Scalar::Kind::Reduced:
          return scalar;
      }
      return scalar;
    };
    Scalar result = rewrite(whole);
    if (!fits) return std::nullopt;
    return result;
  }

  void add_arguments(Operation& into, const Operation& member,
                     const std::map<std::string, Scalar>& inside) const {
    std::vector<ValueId> inputs, weights;
    size_t own_inputs = into.program.inputs.size();
    inputs.assign(into.inputs.begin(), into.inputs.begin() + static_cast<int64_t>(own_inputs));
    weights.assign(into.inputs.begin() + static_cast<int64_t>(own_inputs), into.inputs.end());
    size_t position = 0;
    for (bool weight : {false, true}) {
      for (const auto& declaration : weight ? member.program.weights : member.program.inputs) {
        ValueId id = member.inputs.at(position++);
        bool known = std::find(into.inputs.begin(), into.inputs.end(), id) != into.inputs.end();
        if (known || inside.contains(declaration.name)) continue;
        (weight ? into.program.weights : into.program.inputs).push_back(declaration);
        (weight ? weights : inputs).push_back(id);
      }
    }
    into.inputs = std::move(inputs);
    into.inputs.insert(into.inputs.end(), weights.begin(), weights.end());
  }

  // Tries to take the region behind operation i into it; returns the place of the result.
  std::optional<size_t> absorb(size_t i) {
    const Operation& anchor = operation(i);
    if (anchor.kind != Operation::Kind::Expression || anchor.outputs.size() != 1) {
      return std::nullopt;
    }
    const Stage& last = anchor.program.stages.back();
    if (last.scatters() || last.name != anchor.program.outputs[0]) return std::nullopt;
    ValueId value = anchor.outputs[0];
    auto region = region_after(value, *list_.value(value).shape);
    if (!region) return std::nullopt;

    Operation fused = anchor;
    std::map<std::string, Scalar> inside = {{tensor_name(value), *result_of(last)}};
    std::optional<Scalar> result;
    for (size_t member : *region) {
      const Operation& next = operation(member);
      result = inlined(next, last, inside);
      if (!result || tree_size(*result, kMostScalarNodes) > kMostScalarNodes) return std::nullopt;
      add_arguments(fused, next, inside);
      inside.emplace(tensor_name(next.outputs[0]), *result);
      fused.name += "+" + next.name;
    }
    Stage& stage = fused.program.stages.back();
    if (stage.reduction == expression::Reduction::None) {
      stage.body = *result;
      stage.epilogue.reset();
    } else {
      stage.epilogue = *result;
    }
    size_t place = *region->rbegin();
    fused.outputs = operation(place).outputs;
    for (size_t member : *region) removed_[member] = true;
    removed_[i] = true;
    removed_[place] = false;
    forget_readers(i);
    for (size_t member : *region) forget_readers(member);
    list_.operations[place] = std::move(fused);
    for (ValueId id : list_.operations[place].inputs) {
      auto& readers = readers_[static_cast<size_t>(id)];
      readers.insert(std::upper_bound(readers.begin(), readers.end(), place), place);
    }
    return place;
  }

  void forget_readers(size_t reader) {
    for (ValueId id : list_.operations[reader].inputs) {
      if (id != graph::kNoValue) std::erase(readers_[static_cast<size_t>(id)], reader);
    }
  }

  OperationList& list_;
  std::vector<bool> removed_;
  std::vector<std::vector<size_t>> readers_;
};

}  // namespace

int fuse_elementwise(OperationList& list) { return Fusion(list).run(); }

}  // namespace opsmith::executor
