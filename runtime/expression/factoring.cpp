#include "runtime/expression/factoring.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>

#include "runtime/expression/visit.h"

namespace opsmith::expression {
namespace {

constexpr size_t kMostFactors = 8;

void collect_factors(const Scalar& scalar, std::vector<Scalar>& factors) {
  if (scalar.kind() == Scalar::Kind::Binary && scalar.binary_function() == Binary::Multiply) {
    collect_factors(scalar.operand(0), factors);
    collect_factors(scalar.operand(1), factors);
  } else {
    factors.push_back(scalar);
  }
}

/// Calls visitor(index) for every index of every read and position.
template <typename Visitor>
void visit_indices(const Scalar& scalar, Visitor visitor) {
  for (const Index& index : scalar.indices()) visitor(index);
  for (const Scalar& operand : scalar.operands()) visit_indices(operand, visitor);
}

std::set<std::string> iterators_in(const Index& index) {
  std::set<std::string> found;
  visit(index, [&](const Index& node) {
    if (node.kind() == Index::Kind::Iterator) found.insert(node.name());
  });
  return found;
}

std::set<std::string> iterators_in(const Scalar& scalar) {
  std::set<std::string> found;
  visit_indices(scalar, [&](const Index& index) { found.merge(iterators_in(index)); });
  return found;
}

/// Tries all contraction orders of one stage by dynamic programming over sets of factors.
class Search {
 public:
  Search(const Program& program, const Stage& stage, const Binding& typical)
      : program_(program), stage_(stage), typical_(typical) {
    collect_factors(stage.body, factors_);
    for (const auto* axes : {&stage.axes, &stage.reduction_axes}) {
      for (const Axis& axis : *axes) extents_.emplace(axis.name, axis.extent);
    }
    for (const Axis& axis : stage.reduction_axes) reductions_.insert(axis.name);
    for (const Scalar& factor : factors_) mentioned_.push_back(iterators_in(factor));
  }

  Factoring run() {
    const Factoring original{{stage_}, multiply_accumulates(with_sizes(stage_))};
    if (stage_.reduction != Reduction::Sum || stage_.scatters() || factors_.size() < 2 ||
        factors_.size() > kMostFactors) {
      return original;
    }
    const Set all = (Set{1} << factors_.size()) - 1;
    std::optional<Plan> best;
    for (Set set = 1; set <= all; ++set) {
      if (std::popcount(set) == 1) {
        add_single(set);
        continue;
      }
      best.reset();
      for (Set left = (set - 1) & set; left != 0; left = (left - 1) & set) {
        const Set right = set & ~left;
        if (left < right) continue;  // each pair once, the earlier factor's set second
        for (const Plan& a : plans_.at(right)) {
          for (const Plan& b : plans_.at(left)) {
            Plan plan = contract(a, b, set, set == all);
            if (!best || plan.cost < best->cost) best = std::move(plan);
          }
        }
      }
      plans_[set] = {*best};
    }
    if (best->cost >= original.multiply_accumulates) return original;
    name_stages(*best);
    return {std::move(best->stages), best->cost};
  }

 private:
  using Set = uint32_t;

  /// How the product of a set of factors is made: stages, then `value` is what later stages read.
  struct Plan {
    std::vector<Stage> stages;
    Scalar value = Scalar::constant(0);
    int64_t cost = 0;
    /// Shapes of the stages' tensors.
    std::map<std::string, std::vector<Index>> shapes;
  };

  void add_single(Set set) {
    Plan raw;
    raw.value = factors_[static_cast<size_t>(std::countr_zero(set))];
    plans_[set] = {raw};
    // Summing over what no other factor mentions may pay before anything else.
    Plan reduced = raw;
    add_stage(reduced, raw.value, set);
    if (!reduced.stages.back().reduction_axes.empty()) plans_[set].push_back(reduced);
  }

  Plan contract(const Plan& a, const Plan& b, Set set, bool last) {
    Plan plan = a;
    plan.stages.insert(plan.stages.end(), b.stages.begin(), b.stages.end());
    plan.shapes.insert(b.shapes.begin(), b.shapes.end());
    plan.cost += b.cost;
    const Scalar body = a.value * b.value;
    if (!last) {
      add_stage(plan, body, set);
      return plan;
    }
    Stage stage = stage_;
    stage.body = body;
    const auto used = iterators_in(body);
    std::erase_if(stage.reduction_axes, [&](const Axis& axis) {
      return !used.contains(axis.name) && is_mentioned(axis.name, ~Set{0});
    });
    plan.cost += multiply_accumulates(with_sizes(stage));
    plan.stages.push_back(std::move(stage));
    return plan;
  }

  bool is_mentioned(const std::string& iterator, Set set) const {
    for (size_t i = 0; i < factors_.size(); ++i) {
      if ((set >> i & 1) != 0 && mentioned_[i].contains(iterator)) return true;
    }
    return false;
  }

  /// Appends the stage that sums `body`, the product of `set`, over all iterators that only `set`
  /// mentions.
  void add_stage(Plan& plan, const Scalar& body, Set set) {
    std::set<std::string> closed;
    for (const std::string& iterator : iterators_in(body)) {
      if (reductions_.contains(iterator) && !is_mentioned(iterator, ~set)) closed.insert(iterator);
    }
    Stage stage;
    stage.name = "$" + std::to_string(names_++);
    stage.type = stage.accumulation = stage_.accumulation;
    stage.fill = stage_.fill;
    for (const Axis& axis : stage_.reduction_axes) {
      if (closed.contains(axis.name)) stage.reduction_axes.push_back(axis);
    }
    stage.reduction = closed.empty() ? Reduction::None : Reduction::Sum;
    if (closed.empty()) stage.accumulation = ElementType::Float32;

    std::map<std::string, Index> whole;  // printed index -> the iterator in its place
    std::vector<Index> place;            // how later stages address the result
    std::set<std::string> seen = closed;
    visit_indices(body, [&](const Index& index) {
      if (const auto extent = replaceable(plan, body, index, closed)) {
        const std::string text = to_string(index);
        if (whole.contains(text)) return;
        const Axis axis{"$" + std::to_string(names_++), *extent};
        whole.emplace(text, Index::iterator(axis.name));
        stage.axes.push_back(axis);
        place.push_back(index);
        seen.merge(iterators_in(index));
        return;
      }
      for (const std::string& iterator : iterators_in(index)) {
        if (!seen.insert(iterator).second) continue;
        stage.axes.push_back({iterator, extents_.at(iterator)});
        place.push_back(Index::iterator(iterator));
      }
    });
    stage.body = transform_indices(body, [&](const Index& index) {
      const auto found = whole.find(to_string(index));
      return found == whole.end() ? index : found->second;
    });
    plan.cost += cost_of(stage);
    plan.value = Scalar::read(stage.name, place);
    plan.shapes[stage.name] = stage.shape();
    plan.stages.push_back(std::move(stage));
  }

  /// A product without a reduction multiplies once for each element.
  int64_t cost_of(const Stage& symbolic) const {
    const Stage stage = with_sizes(symbolic);
    if (stage.reduction == Reduction::Sum) return multiply_accumulates(stage);
    return size_of(stage.shape(), stage.name);
  }

  int64_t size(const Index& extent) const { return evaluate(extent, typical_); }

  /// The stage with its typical extents, to count with.
  Stage with_sizes(const Stage& stage) const {
    Stage sized = stage;
    for (auto* axes : {&sized.axes, &sized.reduction_axes}) {
      for (Axis& axis : *axes) axis.extent = Index(size(axis.extent));
    }
    return sized;
  }

  /// The extent of the axis that can stand for a whole index in an intermediate; nullopt when its
  /// iterators are needed one by one or are fewer points.
  std::optional<Index> replaceable(const Plan& plan, const Scalar& body, const Index& index,
                                   const std::set<std::string>& closed) const {
    if (stage_.fill != 0 || index.kind() == Index::Kind::Iterator) return std::nullopt;
    const auto iterators = iterators_in(index);
    int64_t points = 1;
    for (const std::string& iterator : iterators) {
      if (closed.contains(iterator)) return std::nullopt;
      points *= size(extents_.at(iterator));
    }
    if (iterators.empty()) return std::nullopt;
    std::optional<Index> extent;
    std::vector<Scalar> factors;
    collect_factors(body, factors);
    for (const Scalar& factor : factors) {
      const bool read = factor.kind() == Scalar::Kind::Read;
      for (size_t d = 0; read && d < factor.indices().size(); ++d) {
        const Index& other = factor.indices()[d];
        if (other == index) {
          const Index size = shape_of(plan, factor.tensor())[d];
          if (extent && !(*extent == size)) return std::nullopt;
          extent = size;
        } else if (intersect(iterators_in(other), iterators)) {
          return std::nullopt;
        }
      }
      // Other functions of a read need not vanish where the read does.
      if (!read && intersect(iterators_in(factor), iterators)) return std::nullopt;
    }
    if (!extent || size(*extent) >= points) return std::nullopt;
    return extent;
  }
  static bool intersect(const std::set<std::string>& a, const std::set<std::string>& b) {
    return std::any_of(a.begin(), a.end(), [&](const auto& name) { return b.contains(name); });
  }
  std::vector<Index> shape_of(const Plan& plan, const std::string& tensor) const {
    const auto found = plan.shapes.find(tensor);
    return found == plan.shapes.end() ? program_.shape_of(tensor) : found->second;
  }

  /// Gives the temporary names of stages and axes their final form.
  void name_stages(Plan& plan) const {
    std::set<std::string> tensors;
    for (const auto* declarations : {&program_.inputs, &program_.weights}) {
      for (const auto& declaration : *declarations) tensors.insert(declaration.name);
    }
    for (const Stage& stage : program_.stages) tensors.insert(stage.name);
    std::map<std::string, std::string> names;
    for (size_t i = 0; i + 1 < plan.stages.size(); ++i) {
      std::string name = stage_.name + ".part" + std::to_string(i + 1);
      while (!tensors.insert(name).second) name += "'";
      names[plan.stages[i].name] = name;
    }
    const auto symbols = program_.symbols();
    for (Stage& stage : plan.stages) {
      std::set<std::string> taken(symbols.begin(), symbols.end());
      for (const auto& [iterator, extent] : extents_) taken.insert(iterator);
      std::map<std::string, Index> axes;
      for (Axis& axis : stage.axes) {
        if (axis.name[0] != '$' || extents_.contains(axis.name)) continue;
        std::string name = "i" + std::to_string(axes.size());
        while (!taken.insert(name).second) name += "'";
        axes.emplace(axis.name, Index::iterator(name));
        axis.name = name;
      }
      const auto renamed = transform(stage.body, [&](const Scalar& node) {
        if (node.kind() != Scalar::Kind::Read || !names.contains(node.tensor())) return node;
        return Scalar::read(names.at(node.tensor()), node.indices());
      });
      stage.body = transform_indices(renamed, [&](const Index& index) {
        return substitute(index, [&](const Index& leaf) -> const Index* {
          const auto found = axes.find(leaf.name());
          return leaf.kind() == Index::Kind::Iterator && found != axes.end() ? &found->second
                                                                             : nullptr;
        });
      });
      if (names.contains(stage.name)) stage.name = names.at(stage.name);
    }
  }

  const Program& program_;
  const Stage& stage_;
  const Binding& typical_;
  std::vector<Scalar> factors_;
  std::vector<std::set<std::string>> mentioned_;  ///< iterators of each factor
  std::map<std::string, Index> extents_;
  std::set<std::string> reductions_;
  std::map<Set, std::vector<Plan>> plans_;
  int64_t names_ = 0;
};

}  // namespace

Factoring factor(const Program& program, const Stage& stage, const Binding& typical) {
  return Search(program, stage, typical).run();
}

Program factor(const Program& program, const Binding& typical) {
  Program result = program;
  result.stages.clear();
  for (const Stage& stage : program.stages) {
    Factoring factoring = factor(program, stage, typical);
    for (Stage& part : factoring.stages) result.stages.push_back(std::move(part));
  }
  return result;
}

}  // namespace opsmith::expression
