#include "runtime/executor/reference.h"

#include "runtime/executor/control_flow.h"
#include "runtime/executor/functions.h"
#include "runtime/executor/node_evaluation.h"
#include "support/error.h"

namespace opsmith::executor {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using Values = std::map<std::string, Tensor>;

/// Values by name, and those of the graphs around.
struct Scope {
  Values values;
  const Scope* outer = nullptr;

  const Tensor* find(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      const auto found = scope->values.find(name);
      if (found != scope->values.end()) return &found->second;
    }
    return nullptr;
  }
};

class ReferenceRun {
 public:
  explicit ReferenceRun(const graph::Model& model) : model_(model) {}

  /// Computes all nodes; `scope` holds the inputs and receives everything computed.
  void run(const Graph& graph, Scope& scope) const {
    for (size_t id = 0; id < graph.value_count(); ++id) {
      const graph::Value& value = graph.value(static_cast<ValueId>(id));
      if (value.constant) scope.values.try_emplace(value.name, *value.constant);
    }
    for (const Node& node : graph.nodes) {
      std::vector<Tensor> inputs;
      for (ValueId id : node.inputs) inputs.push_back(lookup(graph, id, scope, node));
      std::vector<Tensor> outputs = compute(node, inputs, scope);
      for (size_t i = 0; i < node.outputs.size() && i < outputs.size(); ++i) {
        if (node.outputs[i] != graph::kNoValue) {
          scope.values[graph.value(node.outputs[i]).name] = outputs[i];
        }
      }
    }
  }

  std::vector<Tensor> compute(const Node& node, std::span<const Tensor> inputs,
                              const Scope& scope) const {
    if (!is_control_flow(node)) return evaluate_node(node, model_, inputs);
    return run_control_flow(node, model_.opset_of(node), inputs,
                            [&](const Graph& body, const std::vector<Tensor>& arguments) {
                              return run_body(node, body, arguments, scope);
                            });
  }

 private:
  static Tensor lookup(const Graph& graph, ValueId id, const Scope& scope, const Node& node) {
    if (id == graph::kNoValue) return {};
    const Tensor* found = scope.find(graph.value(id).name);
    if (found == nullptr) {
      throw UserError(graph::describe(node) + ": input '" + graph.value(id).name +
                      "' has no value");
    }
    return *found;
  }

  std::vector<Tensor> run_body(const Node& node, const Graph& body,
                               const std::vector<Tensor>& arguments, const Scope& outer) const {
    if (arguments.size() != body.inputs.size()) {
      throw UserError(graph::describe(node) + ": its body takes " +
                      std::to_string(body.inputs.size()) + " inputs and is given " +
                      std::to_string(arguments.size()));
    }
    Scope scope;
    scope.outer = &outer;
    for (size_t i = 0; i < arguments.size(); ++i) {
      scope.values[body.value(body.inputs[i]).name] = arguments[i];
    }
    run(body, scope);
    std::vector<Tensor> outputs;
    for (ValueId id : body.outputs) outputs.push_back(lookup(body, id, scope, node));
    return outputs;
  }

  const graph::Model& model_;
};

}  // namespace

std::vector<Tensor> evaluate_control_flow(const Node& node, const graph::Model& model,
                                          std::span<const Tensor> inputs,
                                          const std::map<std::string, Tensor>& captured) {
  return ReferenceRun(model).compute(node, inputs, {captured, nullptr});
}

std::map<std::string, Tensor> run_reference(const graph::Model& model,
                                            const std::map<std::string, Tensor>& inputs,
                                            const std::vector<std::string>& keep) {
  graph::Model flat = model;
  inline_functions_without_program(flat);
  Scope scope{inputs, nullptr};
  for (ValueId id : flat.graph.inputs) {
    const graph::Value& value = flat.graph.value(id);
    if (!inputs.contains(value.name) && !value.constant) {
      throw UserError("input '" + value.name + "' is missing");
    }
  }
  ReferenceRun(flat).run(flat.graph, scope);
  std::map<std::string, Tensor> results;
  for (ValueId id : flat.graph.outputs) {
    const std::string& name = flat.graph.value(id).name;
    auto found = scope.values.find(name);
    if (found == scope.values.end()) throw UserError("output '" + name + "' has no value");
    results[name] = found->second;
  }
  for (const std::string& name : keep) {
    auto found = scope.values.find(name);
    if (found == scope.values.end()) throw UserError("there is no value named '" + name + "'");
    results[name] = found->second;
  }
  return results;
}

}  // namespace opsmith::executor
