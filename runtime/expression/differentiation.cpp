#include "runtime/expression/differentiation.h"

#include <algorithm>
#include <set>

#include "runtime/expression/adjoint.h"
#include "runtime/expression/derivative.h"
#include "support/error.h"

namespace opsmith::expression {
namespace {

std::vector<Axis> joined(std::vector<Axis> axes, const std::vector<Axis>& more) {
  axes.insert(axes.end(), more.begin(), more.end());
  return axes;
}

std::vector<Index> iterators_of(const std::vector<Axis>& axes) {
  std::vector<Index> iterators;
  for (const Axis& axis : axes) iterators.push_back(Index::iterator(axis.name));
  return iterators;
}

/// Different reads, in order of appearance.
std::vector<Scalar> distinct_reads(const Scalar& scalar) {
  std::vector<Scalar> distinct;
  for (const Scalar& read : reads(scalar)) {
    if (std::find(distinct.begin(), distinct.end(), read) == distinct.end()) {
      distinct.push_back(read);
    }
  }
  return distinct;
}

bool uses_reduced(const Scalar& scalar) {
  if (scalar.kind() == Scalar::Kind::Reduced) return true;
  return std::any_of(scalar.operands().begin(), scalar.operands().end(), uses_reduced);
}

class Differentiator {
 public:
  Differentiator(const Program& program, const std::vector<std::string>& with_respect_to)
      : source_(program), wanted_(with_respect_to), gradient_(program) {
    gradient_.name = program.name + ".gradient";
    gradient_.outputs.clear();
    for (const auto* declarations : {&program.inputs, &program.weights}) {
      for (const auto& declaration : *declarations) names_.insert(declaration.name);
    }
    for (const Stage& stage : program.stages) names_.insert(stage.name);
  }

  Program run() {
    find_dependents();
    for (const std::string& output : source_.outputs) {
      const std::string name = gradient_name(output);
      if (!names_.insert(name).second) clash(name);
      gradient_.inputs.push_back({name, source_.type_of(output), source_.shape_of(output)});
      incoming_[output] = name;
    }
    for (const std::string& tensor : wanted_) {
      if (!names_.insert(gradient_name(tensor)).second) clash(gradient_name(tensor));
    }
    for (size_t i = source_.stages.size(); i-- > 0;) {
      const Stage& stage = source_.stages[i];
      if (!dependents_.contains(stage.name)) continue;
      const auto total = total_gradient(stage.name, gradient_name(stage.name) + ".total");
      if (total) differentiate_stage(stage, *total);
    }
    for (const std::string& tensor : wanted_) {
      const std::string name = gradient_name(tensor);
      if (!total_gradient(tensor, name)) add_zero(tensor, name);
      gradient_.outputs.push_back(name);
    }
    keep_needed();
    validate(gradient_);
    return std::move(gradient_);
  }

 private:
  [[noreturn]] void clash(const std::string& name) const {
    throw UserError("program " + source_.name + " already has a tensor '" + name + "'");
  }
  [[noreturn]] void no_derivative(const Stage& stage, const std::string& why) const {
    throw Unsupported("program " + source_.name + ", stage '" + stage.name +
                      "' has no derivative: " + why);
  }
  std::string fresh(std::string name) {
    while (!names_.insert(name).second) name += "'";
    return name;
  }

  /// The tensors whose change changes a wanted tensor's gradient: the wanted ones and every float
  /// stage that reads one.
  void find_dependents() {
    for (const std::string& tensor : wanted_) {
      const auto declared = [&](const std::vector<TensorDeclaration>& declarations) {
        return std::any_of(declarations.begin(), declarations.end(),
                           [&](const TensorDeclaration& d) { return d.name == tensor; });
      };
      if (!declared(source_.inputs) && !declared(source_.weights)) {
        throw UserError("program " + source_.name + " has no input or weight '" + tensor + "'");
      }
      if (!is_float(source_.type_of(tensor))) {
        throw Unsupported("program " + source_.name + ": '" + tensor +
                          "' is of an integer type and has no gradient");
      }
      dependents_.insert(tensor);
    }
    for (const Stage& stage : source_.stages) {
      if (!is_float(stage.type)) continue;
      std::vector<Scalar> all = reads(stage.body);
      if (stage.epilogue) {
        const auto more = reads(*stage.epilogue);
        all.insert(all.end(), more.begin(), more.end());
      }
      for (const Scalar& read : all) {
        if (dependents_.contains(read.tensor())) dependents_.insert(stage.name);
      }
    }
  }

  /// Makes the pending contributions to a tensor's gradient into stages and returns the name of
  /// their sum; nullopt when there are none.
  std::optional<std::string> total_gradient(const std::string& tensor, const std::string& name) {
    std::vector<std::string> parts;
    if (incoming_.contains(tensor)) parts.push_back(incoming_.at(tensor));
    auto& pending = pending_[tensor];
    const bool single = parts.empty() && pending.size() == 1;
    for (Stage& stage : pending) {
      stage.name = single ? reserve(name)
                          : fresh(gradient_name(tensor) + "." + std::to_string(parts.size() + 1));
      parts.push_back(stage.name);
      gradient_.stages.push_back(std::move(stage));
    }
    pending.clear();
    if (parts.size() <= 1) return parts.empty() ? std::nullopt : std::optional(parts.front());
    Stage total = elementwise(tensor, reserve(name));
    const auto place = iterators_of(total.axes);
    total.body = Scalar::read(parts[0], place);
    for (size_t i = 1; i < parts.size(); ++i)
      total.body = total.body + Scalar::read(parts[i], place);
    gradient_.stages.push_back(total);
    return total.name;
  }
  /// Names of wanted gradients are reserved from the start.
  std::string reserve(const std::string& name) {
    const bool wanted = std::any_of(wanted_.begin(), wanted_.end(),
                                    [&](const std::string& t) { return gradient_name(t) == name; });
    return wanted ? name : fresh(name);
  }

  /// A stage of a tensor's shape, still without a body.
  Stage elementwise(const std::string& tensor, const std::string& name) const {
    Stage stage;
    stage.name = name;
    stage.type = source_.type_of(tensor);
    const auto shape = source_.shape_of(tensor);
    std::set<std::string> symbols;
    for (const std::string& symbol : source_.symbols()) symbols.insert(symbol);
    for (size_t d = 0; d < shape.size(); ++d) {
      std::string axis = "i" + std::to_string(d);
      while (symbols.contains(axis)) axis += "'";
      stage.axes.push_back({axis, shape[d]});
    }
    return stage;
  }

  void add_zero(const std::string& tensor, const std::string& name) {
    gradient_.stages.push_back(elementwise(tensor, name));
  }

  void differentiate_stage(const Stage& stage, const std::string& total) {
    if (stage.reduction == Reduction::Product) no_derivative(stage, "it reduces by a product");
    Scalar delta = stage.scatters() ? scattered_delta(stage, total)
                                    : Scalar::read(total, iterators_of(stage.axes));
    if (stage.epilogue) {
      const auto own = derivative(*stage.epilogue, Scalar::reduced());
      std::optional<Scalar> shared;
      if (own) shared = materialized(stage, delta, *own);
      for (const Scalar& read : distinct_reads(*stage.epilogue)) {
        if (!dependents_.contains(read.tensor())) continue;
        const auto other = derivative(*stage.epilogue, read);
        if (!other) continue;
        // A bias added to the sum has the gradient of the sum itself.
        const Scalar upstream =
            own && *other == *own ? *shared : delta * with_reduced_read(stage, *other);
        add_contribution(stage, stage.axes, read, upstream);
      }
      if (!own) return;
      delta = *shared;
    }
    if (stage.reduction == Reduction::Maximum || stage.reduction == Reduction::Minimum) {
      delta = Scalar::select(is_first_extremum(stage), delta, Scalar::constant(0));
    }
    for (const Scalar& read : distinct_reads(stage.body)) {
      if (!dependents_.contains(read.tensor())) continue;
      const auto partial = derivative(stage.body, read);
      if (!partial) continue;
      const bool one = partial->kind() == Scalar::Kind::Constant && partial->value() == 1;
      add_contribution(stage, joined(stage.axes, stage.reduction_axes), read,
                       one ? delta : delta * *partial);
    }
  }

  /// The gradient where a scatter stage adds; 0 where it drops the point.
  Scalar scattered_delta(const Stage& stage, const std::string& total) const {
    const Scalar delta = Scalar::read(total, stage.target);
    if (stage.fill == 0) return delta;
    std::optional<Scalar> condition;
    for (size_t d = 0; d < stage.target.size(); ++d) {
      if (stage.target[d].has_within()) {
        no_derivative(stage, "it has both a fill that is not 0 and a `within` in its target");
      }
      const Scalar value = Scalar::position(stage.target[d]);
      condition = both(condition, in_domain(value, stage.target_shape[d]));
    }
    return Scalar::select(*condition, delta, Scalar::constant(0));
  }

  /// delta * derivative over the axes, as a read of a stage of its own unless it is delta itself.
  Scalar materialized(const Stage& stage, const Scalar& delta, const Scalar& derivative) {
    if (derivative.kind() == Scalar::Kind::Constant && derivative.value() == 1) return delta;
    Stage inner;
    inner.name = fresh(gradient_name(stage.name) + ".inner");
    inner.type = stage.type;
    inner.axes = stage.axes;
    inner.body = delta * with_reduced_read(stage, derivative);
    inner.fill = stage.fill;
    gradient_.stages.push_back(inner);
    return Scalar::read(inner.name, iterators_of(stage.axes));
  }

  /// The epilogue's `_` becomes a read of the stage without its epilogue.
  Scalar with_reduced_read(const Stage& stage, const Scalar& scalar) {
    if (!uses_reduced(scalar)) return scalar;
    const Scalar read = Scalar::read(reduced_stage(stage), iterators_of(stage.axes));
    return transform(scalar, [&](const Scalar& node) {
      return node.kind() == Scalar::Kind::Reduced ? read : node;
    });
  }

  /// The name of the stage's value before its epilogue. The stage itself then starts from it.
  std::string reduced_stage(const Stage& stage) {
    if (!stage.epilogue) return stage.name;
    const auto [place, is_new] = reduced_.try_emplace(stage.name);
    if (!is_new) return place->second;
    place->second = fresh(stage.name + ".reduced");
    const auto original =
        std::find_if(gradient_.stages.begin(), gradient_.stages.end(),
                     [&](const Stage& other) { return other.name == stage.name; });
    Stage before = stage;
    before.name = place->second;
    before.type = reduced_type(source_, stage);
    before.epilogue.reset();
    const Scalar read = Scalar::read(before.name, iterators_of(stage.axes));
    original->reduction = Reduction::None;
    original->reduction_axes.clear();
    original->accumulation = ElementType::Float32;
    original->body = transform(*stage.epilogue, [&](const Scalar& node) {
      return node.kind() == Scalar::Kind::Reduced ? read : node;
    });
    original->epilogue.reset();
    gradient_.stages.insert(original, before);
    return place->second;
  }

  /// True at the first point of the reduction that has the extreme value.
  Scalar is_first_extremum(const Stage& stage) {
    Index position = 0, count = 1;
    for (const Axis& axis : stage.reduction_axes) {
      position = position * axis.extent + Index::iterator(axis.name);
      count = count * axis.extent;
    }
    const Scalar here = Scalar::position(position);
    const Scalar extremum = Scalar::read(reduced_stage(stage), iterators_of(stage.axes));
    Stage first = stage;
    first.name = fresh(stage.name + ".first");
    first.type = first.accumulation = ElementType::Int64;
    first.reduction = Reduction::Minimum;
    first.epilogue.reset();
    const ElementType type = stage.epilogue ? reduced_type(source_, stage) : stage.type;
    first.body =
        Scalar::select(Scalar::binary(Binary::Equal, Scalar::cast(type, stage.body), extremum),
                       here, Scalar::position(count));
    gradient_.stages.push_back(first);
    return Scalar::binary(Binary::Equal, here, Scalar::read(first.name, iterators_of(stage.axes)));
  }

  /// Adds upstream, for every point of `space`, to the element that `read` reads there.
  void add_contribution(const Stage& stage, const std::vector<Axis>& space, const Scalar& read,
                        const Scalar& upstream) {
    pending_[read.tensor()].push_back(
        adjoint(gradient_, read, space, upstream, stage.fill, stage.accumulation));
  }

  /// Drops the stages that no output needs.
  void keep_needed() {
    std::set<std::string> needed(gradient_.outputs.begin(), gradient_.outputs.end());
    std::vector<Stage> kept;
    for (size_t i = gradient_.stages.size(); i-- > 0;) {
      const Stage& stage = gradient_.stages[i];
      if (!needed.contains(stage.name)) continue;
      for (const Scalar& read : reads(stage.body)) needed.insert(read.tensor());
      if (stage.epilogue) {
        for (const Scalar& read : reads(*stage.epilogue)) needed.insert(read.tensor());
      }
      kept.push_back(stage);
    }
    std::reverse(kept.begin(), kept.end());
    gradient_.stages = std::move(kept);
  }

  const Program& source_;
  const std::vector<std::string>& wanted_;
  Program gradient_;
  std::set<std::string> names_;
  std::set<std::string> dependents_;
  std::map<std::string, std::string> incoming_;
  std::map<std::string, std::vector<Stage>> pending_;
  std::map<std::string, std::string> reduced_;
};

}  // namespace

std::string gradient_name(const std::string& tensor) { return "gradient." + tensor; }

Program differentiate(const Program& program, const std::vector<std::string>& with_respect_to) {
  validate(program);
  return Differentiator(program, with_respect_to).run();
}

}  // namespace opsmith::expression
