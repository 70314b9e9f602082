#include <algorithm>
#include <map>

#include "runtime/executor/bind_memory.h"
#include "runtime/executor/describe_choice.h"
#include "runtime/executor/fusion/elementwise.h"
#include "runtime/executor/layout/assignment.h"
#include "runtime/executor/lower_graph.h"
#include "runtime/executor/parameters.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/prepare.h"
#include "runtime/executor/split_stages.h"
#include "runtime/expression/canonical.h"
#include "runtime/schedule/choice.h"
#include "support/error.h"
#include "support/log.h"
#include "support/parallel.h"

namespace opsmith::executor {
namespace {

using graph::kNoValue;
using schedule::KernelSpecification;
using schedule::Layout;

class PlanBuilder {
 public:
  explicit PlanBuilder(const PlanContext& context)
      : context_(context), plan_(std::make_shared<Plan>()) {}

  std::shared_ptr<const Plan> build(const std::map<std::string, Shape>& shapes) {
    plan_->model = std::make_shared<const graph::Model>(fix_shapes(*context_.prepared, shapes));
    OperationList list = lower_graph(*plan_->model);
    for (ValueId id : list.outputs) plan_->output_names.push_back(list.value(id).name);
    parameters_ = mark_parameters(list, context_.options.parameters);
    split_stages(list);
    if (context_.options.fuse) fuse_elementwise(list);
    list.variants = !context_.options.exact && !context_.options.low_memory;
    if (context_.options.blocked_layouts) assign_layouts(list, context_.target.lanes(4));
    plan_->inputs = list.inputs;
    plan_->outputs = list.outputs;
    plan_->values = std::move(list.values);
    for (Operation& operation : list.operations) {
      Step step;
      step.operation = std::move(operation);
      plan_->steps.push_back(std::move(step));
    }
    bind_kernels();
    bind_memory(*plan_, context_);
    return plan_;
  }

 private:
  PlanValue& value(ValueId id) { return plan_->values.at(static_cast<size_t>(id)); }

  /// What is to be compiled for a step.
  struct Wanted {
    KernelSpecification specification;
    bool measured = false;
    std::vector<ValueId> inputs;  ///< of the operation, before its weights were packed
  };

  schedule::ChoiceRules rules(const Operation& operation, bool measured) const {
    schedule::ChoiceRules result{context_.options.exact, context_.options.low_memory,
                                 measured ? context_.options.schedules.get() : nullptr};
    if (std::any_of(operation.inputs.begin(), operation.inputs.end(),
                    [&](ValueId id) { return is_parameter(id); })) {
      // Nothing can be prepared of what changes from run to run.
      result.exact = true;
      result.library = nullptr;
    }
    return result;
  }

  // Chooses program and schedule of a step, gives its weights the layouts in which they are wanted
  // and names what is to be compiled.
  Wanted specify(Step& step, bool measured) {
    Operation& operation = step.operation;
    auto problem = std::make_shared<schedule::KernelProblem>();
    problem->program = expression::canonical_names(operation.program);
    problem->layouts = layouts_of(operation, problem->program);
    const schedule::KernelChoice choice = schedule::choose_kernel(
        problem->program, problem->layouts, context_.target, rules(operation, measured));
    Wanted wanted{choice.specification(problem->layouts, context_.target), choice.measured,
                  operation.inputs};
    for (size_t i = 0; i < problem->program.weights.size(); ++i) {
      ValueId& weight = operation.inputs.at(problem->program.inputs.size() + i);
      const std::string& name = choice.variant.program.weights[i].name;
      const auto layout = wanted.specification.layouts.find(name);
      const auto& all = choice.variant.prepared;
      const auto prepared = std::find_if(
          all.begin(), all.end(), [&](const auto& candidate) { return candidate.weight == name; });
      if (prepared != all.end()) {
        weight = add_prepared(weight, prepared->preparation, layout->second);
      } else if (layout != wanted.specification.layouts.end() &&
                 layout->second != value(weight).layout) {
        weight = packed(weight, layout->second);  // the tensor's name stays
      }
    }
    step.variant = describe_choice(choice, operation.program);
    step.problem = std::move(problem);
    return wanted;
  }

  // Of inputs and outputs, and of weights that cannot be packed while planning.
  std::map<std::string, Layout> layouts_of(const Operation& operation,
                                           const expression::Program& program) {
    std::map<std::string, Layout> layouts;
    size_t place = 0;
    for (const auto* declarations : {&program.inputs, &program.weights}) {
      for (const auto& declaration : *declarations) {
        const ValueId id = operation.inputs.at(place++);
        const PlanValue& given = value(id);
        const bool fixed = declarations == &program.weights && !given.constant && !is_parameter(id);
        if (fixed || !given.layout.is_row_major()) layouts[declaration.name] = given.layout;
      }
    }
    for (size_t i = 0; i < operation.outputs.size(); ++i) {
      const Layout& layout = value(operation.outputs[i]).layout;
      if (!layout.is_row_major()) layouts[program.outputs[i]] = layout;
    }
    return layouts;
  }

  // Whether a value's elements may change between runs though they count as weights.
  bool is_parameter(ValueId id) const {
    return std::binary_search(parameters_.begin(), parameters_.end(), id);
  }

  ValueId add(PlanValue added) {
    plan_->values.push_back(std::move(added));
    return static_cast<ValueId>(plan_->values.size() - 1);
  }

  ValueId add_prepared(ValueId original, const expression::Program& preparation,
                       const Layout& layout) {
    PlanValue weight = value(original);
    weight.preparation = std::make_shared<const expression::Program>(preparation);
    weight.layout = layout;
    weight.shape->clear();
    for (const expression::Index& extent : preparation.shape_of(preparation.outputs[0])) {
      weight.shape->push_back(extent.value());
    }
    return add(std::move(weight));
  }

  // A constant in another layout is a further value and no step; a parameter is copied first.
  ValueId packed(ValueId id, const Layout& layout) {
    const bool parameter = is_parameter(id);
    const auto key = std::make_pair(id, to_string(layout));
    const auto known = packed_.find(key);
    if (known != packed_.end()) return known->second;
    PlanValue copy = value(id);
    copy.layout = layout;
    const ValueId made = add(std::move(copy));
    if (parameter) {
      Step step;
      step.operation = copy_between_layouts(value(id), id, made);
      packing_.push_back(std::move(step));
      packed_[key] = made;
    }
    return made;
  }

  // A measured schedule that does not fit any more gives way to the rules.
  void bind_kernels() {
    std::vector<std::optional<Wanted>> wanted;  // for each step
    for (Step& step : plan_->steps) {
      const bool compiled = step.operation.kind == Operation::Kind::Expression;
      wanted.push_back(compiled ? std::optional(specify(step, /*measured=*/true)) : std::nullopt);
    }
    for (Step& step : packing_) {
      wanted.insert(wanted.begin(), specify(step, /*measured=*/true));
      plan_->steps.insert(plan_->steps.begin(), step);
    }
    std::vector<size_t> compiled;
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      Step& step = plan_->steps[i];
      if (!wanted[i]) {
        step.variant = "plain";
        continue;
      }
      step.multiply_accumulates = expression::multiply_accumulates(step.operation.program);
      compiled.push_back(i);
    }
    const std::vector<size_t> refused = compile(compiled, wanted);
    for (const size_t i : refused) {
      plan_->steps[i].operation.inputs = wanted[i]->inputs;
      wanted[i] = specify(plan_->steps[i], /*measured=*/false);
    }
    if (!refused.empty()) compile(refused, wanted);
  }

  // Every distinct kernel once, on all cores. Returns the steps whose measured schedule was
  // refused.
  std::vector<size_t> compile(const std::vector<size_t>& steps,
                              const std::vector<std::optional<Wanted>>& wanted) {
    std::map<std::string, std::vector<size_t>> users;  // by hash
    std::vector<size_t> distinct;                      // the first user of each
    for (const size_t i : steps) {
      std::vector<size_t>& sharing = users[wanted[i]->specification.hash()];
      if (sharing.empty()) distinct.push_back(i);
      sharing.push_back(i);
    }
    std::vector<std::string> reasons(distinct.size());
    parallel_for(static_cast<int64_t>(distinct.size()), available_cores(), [&](int64_t i) {
      const size_t first = distinct[static_cast<size_t>(i)];
      std::shared_ptr<const compiler::LoadedKernel> kernel;
      try {
        kernel = context_.provider->kernel(wanted[first]->specification);
      } catch (const std::exception& error) {
        if (!wanted[first]->measured) {
          throw InternalError("compiling " + plan_->steps[first].operation.name + ": " +
                              error.what());
        }
        reasons[static_cast<size_t>(i)] = error.what();
      }
      for (const size_t step : users.at(wanted[first]->specification.hash())) {
        plan_->steps[step].kernel = kernel;
      }
    });
    std::vector<size_t> refused;
    for (size_t i = 0; i < distinct.size(); ++i) {
      if (reasons[i].empty()) continue;
      const size_t first = distinct[i];
      context_.options.schedules->warn_unfit(plan_->steps[first].operation.name, reasons[i]);
      const auto& sharing = users.at(wanted[first]->specification.hash());
      refused.insert(refused.end(), sharing.begin(), sharing.end());
    }
    return refused;
  }

  const PlanContext& context_;
  std::shared_ptr<Plan> plan_;
  std::vector<ValueId> parameters_;
  std::vector<Step> packing_;  ///< of parameters, to be run before all else
  std::map<std::pair<ValueId, std::string>, ValueId> packed_;
};

}  // namespace

std::shared_ptr<const Plan> build_plan(const PlanContext& context,
                                       const std::map<std::string, Shape>& input_shapes) {
  return PlanBuilder(context).build(input_shapes);
}

}  // namespace opsmith::executor
