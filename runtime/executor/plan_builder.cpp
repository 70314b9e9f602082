#include <algorithm>
#include <map>
#include <set>

#include "runtime/executor/fusion/elementwise.h"
#include "runtime/executor/layout/assignment.h"
#include "runtime/executor/lower_graph.h"
#include "runtime/executor/memory.h"
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

int64_t storage_bytes(const PlanValue& value) {
  return value.layout.storage_count(*value.shape) * static_cast<int64_t>(element_size(value.type));
}

class PlanBuilder {
 public:
  explicit PlanBuilder(const PlanContext& context)
      : context_(context), plan_(std::make_shared<Plan>()) {}

  std::shared_ptr<const Plan> build(const std::map<std::string, Shape>& shapes) {
    plan_->model = std::make_shared<const graph::Model>(fix_shapes(*context_.prepared, shapes));
    OperationList list = lower_graph(*plan_->model);
    for (ValueId id : list.outputs) plan_->output_names.push_back(list.value(id).name);
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
    bind_memory();
    return plan_;
  }

 private:
  PlanValue& value(ValueId id) { return plan_->values.at(static_cast<size_t>(id)); }
  Location& location(ValueId id) { return plan_->locations.at(static_cast<size_t>(id)); }

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
      if (preferred == weight_layouts.end() || !value(id).constant || data_layouts.contains(name) ||
          preferred->second == value(id).layout) {
        continue;
      }
      PlanValue packed = value(id);
      packed.layout = preferred->second;
      plan_->values.push_back(std::move(packed));
      id = static_cast<ValueId>(plan_->values.size() - 1);  // the tensor's name stays
      specification.layouts[name] = preferred->second;
    }
    specification.schedule =
        schedule::default_schedule(operation.program, specification.layouts, context_.target);
    return specification;
  }

  // Every distinct kernel once, on all cores.
  void bind_kernels() {
    std::vector<KernelSpecification> distinct;
    std::map<std::string, std::vector<size_t>> users;  // by hash
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      Step& step = plan_->steps[i];
      if (step.operation.kind != Operation::Kind::Expression) {
        step.variant = "plain";
        continue;
      }
      KernelSpecification specification = specify(step);
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

  bool aliases_input(const Operation& operation) const {
    return operation.kind == Operation::Kind::View;
  }

  // Which values share memory: a view with its input.
  std::vector<ValueId> find_roots() {
    std::vector<ValueId> roots(plan_->values.size());
    for (size_t i = 0; i < roots.size(); ++i) roots[i] = static_cast<ValueId>(i);
    for (const Step& step : plan_->steps) {
      if (!aliases_input(step.operation)) continue;
      roots[static_cast<size_t>(step.operation.outputs[0])] =
          roots[static_cast<size_t>(step.operation.inputs[0])];
    }
    return roots;
  }

  void bind_memory() {
    plan_->locations.resize(plan_->values.size());
    std::vector<ValueId> roots = find_roots();
    auto root = [&](ValueId id) { return roots[static_cast<size_t>(id)]; };
    for (size_t i = 0; i < plan_->inputs.size(); ++i) {
      location(plan_->inputs[i]).kind = Location::Kind::Input;
      location(plan_->inputs[i]).index = i;
    }
    for (size_t i = 0; i < plan_->values.size(); ++i) bind_constant(static_cast<ValueId>(i));
    place_parts(root);
    bind_outputs(root);
    bind_arena(root);
    for (auto it = parts_.rbegin(); it != parts_.rend(); ++it) {
      location(it->part) = location(it->whole);  // wholes of wholes come later in the list
      location(it->part).offset += it->offset;
    }
    for (size_t i = 0; i < plan_->values.size(); ++i) {
      plan_->locations[i] = plan_->locations[static_cast<size_t>(roots[i])];
    }
  }

  /// A value that is made inside the concatenation that reads it.
  struct Part {
    ValueId part = kNoValue, whole = kNoValue;
    int64_t offset = 0;  ///< bytes
  };

  // Channel blocks of one image lie one after the other, so parts of a concatenation can be made
  // where they belong. A value can be part of one concatenation only; others copy it.
  template <typename Root>
  void place_parts(const Root& root) {
    for (const Step& step : plan_->steps) {
      if (step.operation.kind != Operation::Kind::Join) continue;
      ValueId whole = step.operation.outputs[0];
      const PlanValue& joined = value(whole);
      if (joined.shape->at(0) != 1) continue;
      int64_t plane = joined.layout.piece_strides(*joined.shape)[1];
      int64_t channels = 0;
      for (ValueId id : step.operation.inputs) {
        int64_t offset = channels / joined.layout.block_of(1) * plane *
                         static_cast<int64_t>(element_size(joined.type));
        channels += value(id).shape->at(1);
        bool free = root(id) == id && location(id).kind == Location::Kind::Nowhere &&
                    value(id).layout == joined.layout && !whole_of_.contains(id);
        if (!free) continue;
        whole_of_[id] = whole;
        parts_.push_back({id, whole, offset});
      }
    }
  }

  // The value whose memory holds this one.
  ValueId outermost(ValueId id) const {
    for (auto it = whole_of_.find(id); it != whole_of_.end(); it = whole_of_.find(id)) {
      id = it->second;
    }
    return id;
  }

  void bind_constant(ValueId id) {
    const PlanValue& constant = value(id);
    if (!constant.constant || constant.type == ElementType::String) return;
    if (location(id).kind == Location::Kind::Input) return;
    // Constants of the prepared model are packed once for all plans.
    const graph::Graph& prepared = context_.prepared->graph;
    auto known = prepared.find(constant.name);
    bool shared = known && prepared.constant(*known) != nullptr &&
                  prepared.constant(*known)->raw() == constant.constant->raw();
    WeightStore& store = shared ? *context_.weights : plan_->own_constants;
    if (!used_as_constant(id)) return;
    location(id).kind = Location::Kind::Constant;
    location(id).data = store.packed(*constant.constant, constant.layout);
  }

  bool used_as_constant(ValueId id) {
    if (used_.empty()) {
      used_.resize(plan_->values.size(), false);
      for (const Step& step : plan_->steps) {
        for (ValueId input : step.operation.inputs) {
          if (input != kNoValue) used_[static_cast<size_t>(input)] = true;
        }
      }
      for (ValueId output : plan_->outputs) used_[static_cast<size_t>(output)] = true;
    }
    return used_[static_cast<size_t>(id)];
  }

  // A result that is made in an arena tensor of exactly the result's elements is made in place.
  template <typename Root>
  void bind_outputs(const Root& root) {
    std::set<ValueId> taken;
    std::set<ValueId> heap;
    for (const Step& step : plan_->steps) {
      for (ValueId id : step.operation.outputs) {
        if (id != kNoValue && step.operation.kind == Operation::Kind::Dynamic) {
          location(id).kind = Location::Kind::Heap;
        }
      }
    }
    for (size_t i = 0; i < plan_->outputs.size(); ++i) {
      ValueId at = root(plan_->outputs[i]);
      if (whole_of_.contains(at)) continue;
      if (location(at).kind != Location::Kind::Nowhere || !taken.insert(at).second) continue;
      if (!value(at).shape ||
          value(at).layout.storage_count(*value(at).shape) != element_count(*value(at).shape)) {
        continue;
      }
      location(at).kind = Location::Kind::Output;
      location(at).index = i;
    }
  }

  template <typename Root>
  void bind_arena(const Root& root) {
    std::vector<MemoryRequest> requests;
    std::vector<ValueId> owners;  // kNoValue: workspace of the step
    std::map<ValueId, size_t> request_of;
    std::vector<std::pair<size_t, size_t>> workspaces;  // step, request
    auto touch = [&](ValueId id, size_t step) {
      if (id == kNoValue) return;
      ValueId at = outermost(root(id));
      auto found = request_of.find(at);
      if (found != request_of.end()) requests[found->second].last = step;
    };
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      Step& step = plan_->steps[i];
      for (ValueId id : step.operation.outputs) {
        if (id == kNoValue || root(id) != id) continue;
        ValueId owner = outermost(id);
        if (location(owner).kind == Location::Kind::Nowhere && !request_of.contains(owner)) {
          request_of[owner] = requests.size();
          requests.push_back({storage_bytes(value(owner)), i, i, 0});
          owners.push_back(owner);
        }
        touch(owner, i);
      }
      for (ValueId id : step.operation.inputs) touch(id, i);
      if (step.kernel && step.kernel->workspace_bytes() > 0) {
        workspaces.emplace_back(i, requests.size());
        requests.push_back({step.kernel->workspace_bytes(), i, i, 0});
        owners.push_back(kNoValue);
      }
    }
    for (ValueId id : plan_->outputs) touch(id, plan_->steps.size());
    plan_->arena_bytes = place_in_arena(requests);
    for (size_t i = 0; i < owners.size(); ++i) {
      if (owners[i] == kNoValue) continue;
      location(owners[i]).kind = Location::Kind::Arena;
      location(owners[i]).offset = requests[i].offset;
    }
    for (auto [step, request] : workspaces) {
      plan_->steps[step].workspace = requests[request].offset;
    }
  }

  const PlanContext& context_;
  std::shared_ptr<Plan> plan_;
  std::vector<bool> used_;
  std::vector<Part> parts_;
  std::map<ValueId, ValueId> whole_of_;
};

}  // namespace

std::shared_ptr<const Plan> build_plan(const PlanContext& context,
                                       const std::map<std::string, Shape>& input_shapes) {
  return PlanBuilder(context).build(input_shapes);
}

}  // namespace opsmith::executor
