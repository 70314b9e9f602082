#include "runtime/executor/lower_graph.h"

#include <algorithm>
#include <set>

#include "runtime/executor/control_flow.h"
#include "runtime/kernels/lowering.h"
#include "support/error.h"

namespace opsmith::executor {
namespace {

using expression::Program;
using expression::Scalar;
using graph::Graph;
using graph::Node;

// Renames the program's inputs and weights after the values they are, so that programs can be
// joined. Two arguments that are one value become one tensor.
void name_by_value(Operation& operation) {
  std::map<std::string, std::string> names;
  std::vector<ValueId> arguments;
  size_t position = 0;
  for (auto* declarations : {&operation.program.inputs, &operation.program.weights}) {
    std::vector<expression::TensorDeclaration> kept;
    for (expression::TensorDeclaration& declaration : *declarations) {
      ValueId id = operation.inputs.at(position++);
      names[declaration.name] = tensor_name(id);
      if (std::find(arguments.begin(), arguments.end(), id) != arguments.end()) continue;
      arguments.push_back(id);
      declaration.name = tensor_name(id);
      kept.push_back(std::move(declaration));
    }
    *declarations = std::move(kept);
  }
  operation.inputs = std::move(arguments);
  auto rename = [&](const Scalar& scalar) {
    if (scalar.kind() != Scalar::Kind::Read) return scalar;
    auto found = names.find(scalar.tensor());
    return found == names.end() ? scalar : Scalar::read(found->second, scalar.indices());
  };
  for (expression::Stage& stage : operation.program.stages) {
    stage.body = transform(stage.body, rename);
    if (stage.epilogue) stage.epilogue = transform(*stage.epilogue, rename);
  }
}

// The values of the graph around it that a node's subgraphs read, at any depth.
void add_captures(const Node& node, const Graph& outer, std::vector<ValueId>& captures) {
  for (const auto& [name, attribute] : node.attributes) {
    const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute);
    if (body == nullptr) continue;
    for (const std::string& captured : (*body)->captures()) {
      if (auto id = outer.find(captured)) captures.push_back(*id);
    }
  }
}

class GraphLowering {
 public:
  explicit GraphLowering(const graph::Model& model) : model_(model), graph_(model.graph) {}

  OperationList lower() {
    for (size_t i = 0; i < graph_.value_count(); ++i) {
      const graph::Value& value = graph_.value(static_cast<ValueId>(i));
      PlanValue plan_value;
      plan_value.name = value.name;
      plan_value.type = value.type;
      plan_value.constant = value.constant;
      if (value.constant) {
        plan_value.type = value.constant->type();
        plan_value.shape = value.constant->shape();
      } else if (value.shape) {
        plan_value.shape = concrete(*value.shape);
      }
      if (plan_value.shape) {
        plan_value.layout = schedule::Layout::row_major(plan_value.shape->size());
      }
      list_.values.push_back(std::move(plan_value));
    }
    list_.inputs = graph_.inputs;
    list_.outputs = graph_.outputs;
    for (const Node& node : graph_.nodes) list_.operations.push_back(lower_node(node));
    return std::move(list_);
  }

 private:
  bool is_static(ValueId id) const {
    if (id == graph::kNoValue) return true;
    const PlanValue& value = list_.value(id);
    return value.shape && is_plain_data(value.type);
  }

  Operation lower_control_flow(const Node& node) {
    Operation operation;
    operation.kind = Operation::Kind::Dynamic;
    operation.name = node.name.empty() ? node.type : node.name;
    operation.type = node.type;
    operation.node = node;
    operation.inputs = node.inputs;
    operation.outputs = node.outputs;
    add_captures(node, graph_, operation.inputs);
    for (ValueId id : node.outputs) {
      if (id != graph::kNoValue) list_.value(id).shape.reset();
    }
    return operation;
  }

  Operation lower_node(const Node& node) {
    if (is_control_flow(node)) return lower_control_flow(node);
    const kernels::KernelDefinition* definition = kernels::find_kernel(node.domain, node.type);
    if (definition == nullptr) {
      throw Unsupported(graph::describe(node) + " has no kernel in the runtime");
    }
    Operation operation;
    operation.name = node.name.empty() ? node.type : node.name;
    operation.type = node.domain.empty() ? node.type : node.domain;
    operation.inputs = node.inputs;
    operation.outputs = node.outputs;
    bool inputs_known = std::all_of(node.inputs.begin(), node.inputs.end(),
                                    [&](ValueId id) { return is_static(id); });
    // Tensors without elements are left to the evaluator (empty constants are absent options).
    auto is_empty = [&](ValueId id) {
      return id != graph::kNoValue && is_static(id) && !list_.value(id).constant &&
             element_count(*list_.value(id).shape) == 0;
    };
    bool empty = std::any_of(node.inputs.begin(), node.inputs.end(), is_empty) ||
                 std::any_of(node.outputs.begin(), node.outputs.end(), is_empty);
    if (inputs_known && !empty && definition->lowering) {
      if (auto lowered = definition->lowering(node, context(node))) {
        return expression(std::move(*lowered), std::move(operation));
      }
    }
    bool outputs_known = std::all_of(node.outputs.begin(), node.outputs.end(),
                                     [&](ValueId id) { return is_static(id); });
    operation.node = node;
    if (!inputs_known || !outputs_known || empty || !definition->plain) {
      operation.kind = Operation::Kind::Dynamic;
      for (ValueId id : node.outputs) {
        if (id != graph::kNoValue) list_.value(id).shape.reset();
      }
    } else if (is_view(node)) {
      operation.kind = Operation::Kind::View;
      operation.inputs.resize(1);
    }
    return operation;
  }

  // Shape operators on one tensor, and transpositions that only move dimensions of extent 1.
  bool is_view(const Node& node) const {
    static const std::set<std::string> types = {"Reshape", "Flatten", "Squeeze", "Unsqueeze",
                                                "Identity"};
    if (!node.domain.empty()) return false;
    if (types.contains(node.type)) return true;
    if (node.type != "Transpose") return false;
    const Shape& shape = *list_.value(node.inputs[0]).shape;
    std::vector<int64_t> order = node.integers("perm");
    if (order.size() != shape.size()) return false;
    int64_t previous = -1;
    for (int64_t from : order) {
      if (shape.at(static_cast<size_t>(from)) == 1) continue;
      if (from < previous) return false;
      previous = from;
    }
    return true;
  }

  kernels::LoweringContext context(const Node& node) const {
    kernels::LoweringContext context;
    context.model = &model_;
    for (ValueId id : node.inputs) {
      bool absent = id == graph::kNoValue;
      context.input_shapes.push_back(absent ? Shape{} : *list_.value(id).shape);
      context.input_types.push_back(absent ? ElementType::Undefined : list_.value(id).type);
      const PlanValue* value = absent ? nullptr : &list_.value(id);
      context.constants.push_back(value != nullptr && value->constant ? &*value->constant
                                                                      : nullptr);
    }
    return context;
  }

  // The program's own shapes stand, so that compiled code and memory cannot disagree.
  Operation expression(kernels::Lowered lowered, Operation operation) {
    operation.kind = Operation::Kind::Expression;
    operation.program = std::move(lowered.program);
    std::vector<ValueId> arguments;
    for (int argument : lowered.arguments) {
      arguments.push_back(operation.inputs.at(static_cast<size_t>(argument)));
    }
    operation.inputs = std::move(arguments);
    name_by_value(operation);
    operation.outputs.resize(operation.program.outputs.size());
    for (size_t i = 0; i < operation.outputs.size(); ++i) {
      PlanValue& value = list_.value(operation.outputs[i]);
      Shape shape;
      for (const expression::Index& extent :
           operation.program.shape_of(operation.program.outputs[i])) {
        shape.push_back(extent.value());
      }
      value.shape = shape;
      value.type = operation.program.type_of(operation.program.outputs[i]);
      value.layout = schedule::Layout::row_major(shape.size());
    }
    return operation;
  }

  const graph::Model& model_;
  const Graph& graph_;
  OperationList list_;
};

}  // namespace

OperationList lower_graph(const graph::Model& model) { return GraphLowering(model).lower(); }

}  // namespace opsmith::executor
