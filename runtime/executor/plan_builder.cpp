#include <algorithm>
#include <map>

#include "runtime/executor/bind_memory.h"
#include "runtime/executor/fusion/elementwise.h"
#include "runtime/executor/layout/assignment.h"
#include "runtime/executor/lower_graph.h"
#include "runtime/executor/parameters.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/prepare.h"
#include "runtime/executor/split_stages.h"
#include "runtime/schedule/schedule.h"
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

  KernelSpecification specify(Step& step) {
    Operation& operation = step.operation;
    KernelSpecification specification;
    specification.target = context_.target;
    specification.program = operation.program;
    size_t position = 0;
    std::map<std::string, Layout> data_layouts;
    auto note = [&](const std::string& name, const Layout& layout) {
      if (!layout.is_row_major()) data_layouts[name] = layout;
    };
    for (const auto* declarations : {&operation.program.inputs, &operation.program.weights}) {
      for (const auto& declaration : *declarations) {
        note(declaration.name, value(operation.inputs.at(position++)).layout);
      }
    }
    for (size_t i = 0; i < operation.outputs.size(); ++i) {
      note(operation.program.outputs[i], value(operation.outputs[i]).layout);
    }
    specification.layouts = data_layouts;
    auto weight_layouts =
        schedule::preferred_weight_layouts(operation.program, data_layouts, context_.target);
    for (size_t i = 0; i < operation.program.weights.size(); ++i) {
      const std::string& name = operation.program.weights[i].name;
      ValueId& id = operation.inputs.at(operation.program.inputs.size() + i);
      auto preferred = weight_layouts.find(name);
      const bool parameter = std::binary_search(parameters_.begin(), parameters_.end(), id);
      if (preferred == weight_layouts.end() || !(value(id).constant || parameter) ||
          data_layouts.contains(name) || preferred->second == value(id).layout) {
        continue;
      }
      id = packed(id, preferred->second, parameter);  // the tensor's name stays
      specification.layouts[name] = preferred->second;
    }
    specification.schedule =
        schedule::default_schedule(operation.program, specification.layouts, context_.target);
    return specification;
  }

  // A constant in another layout is a further value and no step; a parameter is copied first.
  ValueId packed(ValueId id, const Layout& layout, bool parameter) {
    const auto key = std::make_pair(id, to_string(layout));
    const auto known = packed_.find(key);
    if (known != packed_.end()) return known->second;
    PlanValue copy = value(id);
    copy.layout = layout;
    plan_->values.push_back(std::move(copy));
    const auto made = static_cast<ValueId>(plan_->values.size() - 1);
    if (parameter) {
      Step step;
      step.operation = copy_between_layouts(value(id), id, made);
      packing_.push_back(std::move(step));
      packed_[key] = made;
    }
    return made;
  }

  // Every distinct kernel once, on all cores.
  void bind_kernels() {
    std::vector<KernelSpecification> distinct;
    std::map<std::string, std::vector<size_t>> users;  // by hash
    std::vector<std::optional<KernelSpecification>> specifications;
    for (Step& step : plan_->steps) {
      const bool compiled = step.operation.kind == Operation::Kind::Expression;
      specifications.push_back(compiled ? std::optional(specify(step)) : std::nullopt);
    }
    for (Step& step : packing_) {
      specifications.insert(specifications.begin(), specify(step));
      plan_->steps.insert(plan_->steps.begin(), step);
    }
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      Step& step = plan_->steps[i];
      if (!specifications[i]) {
        step.variant = "plain";
        continue;
      }
      KernelSpecification& specification = *specifications[i];
      step.multiply_accumulates = expression::multiply_accumulates(step.operation.program);
      step.variant = describe(specification.schedule);
      std::string hash = specification.hash();
      if (!users.contains(hash)) distinct.push_back(std::move(specification));
      users[hash].push_back(i);
    }
    parallel_for(static_cast<int64_t>(distinct.size()), available_cores(), [&](int64_t i) {
      const KernelSpecification& specification = distinct[static_cast<size_t>(i)];
      const std::vector<size_t>& steps = users.at(specification.hash());
      std::shared_ptr<const compiler::LoadedKernel> kernel;
      try {
        kernel = context_.provider->kernel(specification);
      } catch (const std::exception& error) {
        throw InternalError("compiling " + plan_->steps[steps[0]].operation.name + ": " +
                            error.what());
      }
      for (size_t step : steps) plan_->steps[step].kernel = kernel;
    });
  }

  // "direct o:16 w:14": the register tile where there is one.
  static std::string describe(const schedule::Schedule& schedule) {
    std::string text = "direct";
    for (const schedule::Directive& directive : schedule.directives) {
      if (directive.kind != "split") continue;
      text += " " + directive.axes.at(0) + ":" + std::to_string(directive.factor);
    }
    return text;
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
