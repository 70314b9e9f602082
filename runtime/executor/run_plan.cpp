#include <chrono>
#include <cstring>

#include "runtime/executor/control_flow.h"
#include "runtime/executor/layout/copy.h"
#include "runtime/executor/node_evaluation.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/reference.h"
#include "support/error.h"
#include "support/thread_team.h"

namespace opsmith::executor {
namespace {

using graph::kNoValue;

class PlanRun {
 public:
  PlanRun(const Plan& plan, const std::vector<Tensor>& inputs, void* arena, int threads)
      : plan_(plan),
        inputs_(inputs),
        arena_(static_cast<char*>(arena)),
        team_(threads),
        heap_(plan.values.size()) {
    for (ValueId id : plan.outputs) {
      const Location& location = plan.location(id);
      bool own = location.kind == Location::Kind::Output;
      results_.push_back(own ? Tensor(plan.value(id).type, *plan.value(id).shape) : Tensor());
    }
  }

  void run(const Step& step) {
    switch (step.operation.kind) {
      case Operation::Kind::Expression:
        return run_expression(step);
      case Operation::Kind::Plain:
        return run_plain(step);
      case Operation::Kind::Dynamic:
        return run_dynamic(step);
      case Operation::Kind::Convert:
        return run_convert(step);
      case Operation::Kind::Join:
        return run_join(step);
      case Operation::Kind::View:
        return;
    }
  }

  std::vector<Tensor> results() {
    for (size_t i = 0; i < results_.size(); ++i) {
      ValueId id = plan_.outputs[i];
      const Location& location = plan_.location(id);
      if (location.kind == Location::Kind::Output && location.index == i) {
        results_[i] = results_[i].reshaped(*plan_.value(id).shape);
      } else {
        results_[i] = tensor(id).clone();
      }
    }
    return std::move(results_);
  }

 private:
  void* address(ValueId id) {
    const Location& location = plan_.location(id);
    switch (location.kind) {
      case Location::Kind::Arena:
        return arena_ + location.offset;
      case Location::Kind::Input:
        return const_cast<void*>(inputs_.at(location.index).raw());
      case Location::Kind::Output:
        return static_cast<char*>(results_.at(location.index).raw()) + location.offset;
      case Location::Kind::Constant:
        return const_cast<void*>(location.data);
      case Location::Kind::Heap:
        return heap_.at(static_cast<size_t>(id)).raw();
      case Location::Kind::Nowhere:
        break;
    }
    throw InternalError("value '" + plan_.value(id).name + "' has no memory");
  }

  // A row-major value as a tensor.
  Tensor tensor(ValueId id) {
    if (id == kNoValue) return {};
    const PlanValue& value = plan_.value(id);
    if (plan_.location(id).kind == Location::Kind::Heap) return heap_.at(static_cast<size_t>(id));
    if (value.constant) return *value.constant;
    if (!is_plain_data(value.type) || !value.shape) {
      return inputs_.at(plan_.location(id).index);  // a sequence, strings: not in the arena
    }
    return Tensor::view(value.type, *value.shape, address(id));
  }

  std::vector<Tensor> input_tensors(const Step& step) {
    std::vector<Tensor> tensors;
    for (ValueId id : step.operation.inputs) tensors.push_back(tensor(id));
    return tensors;
  }

  void run_expression(const Step& step) {
    std::vector<void*> arguments;
    for (ValueId id : step.operation.inputs) arguments.push_back(address(id));
    for (ValueId id : step.operation.outputs) arguments.push_back(address(id));
    step.kernel->run(arguments, arena_ + step.workspace, team_);
  }

  void run_plain(const Step& step) {
    const graph::Node& node = *step.operation.node;
    std::vector<Tensor> inputs = input_tensors(step);
    auto place = [&](size_t i, ElementType type, const Shape& shape) -> Tensor {
      ValueId id = step.operation.outputs.at(i);
      if (id == kNoValue) return {};
      const PlanValue& value = plan_.value(id);
      if (value.type != type || *value.shape != shape) return {};
      return Tensor::view(type, shape, address(id));
    };
    std::vector<Tensor> outputs = evaluate_plain(node, *plan_.model, inputs, place);
    for (size_t i = 0; i < step.operation.outputs.size(); ++i) {
      ValueId id = step.operation.outputs[i];
      if (id == kNoValue) continue;
      const PlanValue& value = plan_.value(id);
      const Tensor& output = outputs.at(i);
      if (output.type() != value.type || output.shape() != *value.shape) {
        throw InternalError(graph::describe(node) + " made " + to_string(output.shape()) +
                            " where " + to_string(*value.shape) + " was inferred");
      }
      void* wanted = address(id);
      if (output.raw() != wanted && output.bytes() > 0) {
        std::memcpy(wanted, output.raw(), output.bytes());
      }
    }
  }

  void run_dynamic(const Step& step) {
    const graph::Node& node = *step.operation.node;
    std::vector<Tensor> inputs = input_tensors(step);
    std::vector<Tensor> outputs = is_control_flow(node) ? run_control(step, inputs)
                                                        : evaluate_node(node, *plan_.model, inputs);
    for (size_t i = 0; i < step.operation.outputs.size() && i < outputs.size(); ++i) {
      ValueId id = step.operation.outputs[i];
      if (id == kNoValue) continue;
      // Views of the arena would not outlive this step's inputs.
      heap_[static_cast<size_t>(id)] = outputs[i].clone();
    }
  }

  // The operation's inputs are the node's and then what its subgraphs capture.
  std::vector<Tensor> run_control(const Step& step, const std::vector<Tensor>& inputs) {
    const graph::Node& node = *step.operation.node;
    size_t own = node.inputs.size();
    std::map<std::string, Tensor> environment;
    for (size_t i = own; i < inputs.size(); ++i) {
      environment[plan_.value(step.operation.inputs[i]).name] = inputs[i];
    }
    return evaluate_control_flow(node, *plan_.model, {inputs.data(), own}, environment);
  }

  void run_convert(const Step& step) {
    const PlanValue& from = plan_.value(step.operation.inputs[0]);
    const PlanValue& to = plan_.value(step.operation.outputs[0]);
    change_layout(address(step.operation.inputs[0]), from.layout,
                  address(step.operation.outputs[0]), to.layout, *to.shape, to.type, team_);
  }

  void run_join(const Step& step) {
    std::vector<JoinPart> parts;
    for (ValueId id : step.operation.inputs) {
      const PlanValue& value = plan_.value(id);
      parts.push_back({address(id), value.layout, value.shape->at(1)});
    }
    const PlanValue& to = plan_.value(step.operation.outputs[0]);
    join_channels(parts, address(step.operation.outputs[0]), to.layout, *to.shape, team_);
  }

  const Plan& plan_;
  const std::vector<Tensor>& inputs_;
  char* arena_;
  ThreadTeam team_;
  std::vector<Tensor> heap_;
  std::vector<Tensor> results_;
};

}  // namespace

std::vector<Tensor> run_plan(const Plan& plan, const std::vector<Tensor>& inputs, void* arena,
                             int threads, std::vector<StepProfile>* profile) {
  PlanRun run(plan, inputs, arena, threads);
  for (const Step& step : plan.steps) {
    if (profile == nullptr) {
      run.run(step);
      continue;
    }
    auto begin = std::chrono::steady_clock::now();
    run.run(step);
    auto end = std::chrono::steady_clock::now();
    if (step.operation.kind == Operation::Kind::View) continue;
    StepProfile entry;
    entry.node = step.operation.name;
    entry.operation = step.operation.type;
    entry.variant = step.variant;
    entry.problem = step.problem;
    if (!step.operation.outputs.empty() && step.operation.outputs[0] != kNoValue) {
      entry.output = plan.value(step.operation.outputs[0]).shape.value_or(Shape{});
    }
    entry.milliseconds = std::chrono::duration<double, std::milli>(end - begin).count();
    entry.multiply_accumulates = step.multiply_accumulates;
    profile->push_back(std::move(entry));
  }
  return run.results();
}

}  // namespace opsmith::executor
