#include "substitute/refit/distillation/training_graph.h"

#include <algorithm>
#include <set>

#include "runtime/executor/prepare.h"
#include "substitute/refit/backward/backward.h"
#include "substitute/refit/backward/stage_node.h"
#include "support/error.h"

namespace opsmith::substitute {

namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

bool has_parameters(const Node& node) {
  static const std::set<std::string> types = {"Conv",   "ConvTranspose", "Gemm",
                                              "MatMul", "Add",           "LayerNormalization"};
  return node.domain == "opsmith" || (node.domain.empty() && types.contains(node.type));
}

/// Constants that nodes with parameters read, each once, in the order of the nodes.
std::vector<ValueId> parameter_values(const Graph& graph) {
  std::vector<ValueId> values;
  for (const Node& node : graph.nodes) {
    if (!has_parameters(node)) continue;
    for (const ValueId id : node.inputs) {
      const Tensor* tensor = id == graph::kNoValue ? nullptr : graph.constant(id);
      const bool trains =
          tensor != nullptr && tensor->type() == ElementType::Float32 && tensor->count() > 1;
      if (trains && std::find(values.begin(), values.end(), id) == values.end()) {
        values.push_back(id);
      }
    }
  }
  return values;
}

int64_t graph_macs(const graph::Model& model) {
  int64_t macs = 0;
  for (const Node& node : model.graph.nodes) {
    if (const auto lowered = lower_node(model, node)) {
      macs += expression::multiply_accumulates(lowered->program);
    }
  }
  return macs;
}

}  // namespace

std::vector<std::string> trainable_parameters(const graph::Model& model) {
  std::vector<std::string> names;
  for (const ValueId id : parameter_values(model.graph)) {
    names.push_back(model.graph.value(id).name);
  }
  return names;
}

TrainingGraph make_training_graph(const graph::Model& source,
                                  const std::map<std::string, Shape>& shapes,
                                  const std::map<std::string, OutputLoss>& outputs) {
  // Parameters become inputs first: equal ones would be taken for one constant.
  graph::Model open = source;
  const std::vector<ValueId> trained = parameter_values(source.graph);
  std::vector<std::string> names;
  std::map<std::string, Shape> all_shapes = shapes;
  for (const ValueId id : trained) {
    graph::Value& value = open.graph.value(id);
    const Shape shape = value.constant->shape();
    value.type = ElementType::Float32;
    value.shape = graph::SymbolicShape(shape.begin(), shape.end());
    value.constant.reset();
    open.graph.inputs.push_back(id);
    names.push_back(value.name);
    all_shapes[value.name] = shape;
  }
  TrainingGraph training;
  training.model = executor::fix_shapes(executor::prepare_model(open, {}), all_shapes);
  graph::Model& model = training.model;
  Graph& graph = model.graph;
  std::vector<ValueId> parameters;
  for (const std::string& name : names) parameters.push_back(*graph.find(name));
  split_into_stages(model);
  training.forward_macs = graph_macs(model);

  std::vector<ValueId> losses;
  for (const auto& [name, how] : outputs) {
    const std::optional<ValueId> output = graph.find(name);
    require(output.has_value(), "there is no output '" + name + "'");
    graph::Value target;
    target.name = graph.unique_name(name + ".target");
    target.type = ElementType::Float32;
    target.shape = graph.value(*output).shape;
    training.targets[name] = target.name;
    const ValueId wanted = graph.add_value(std::move(target));
    graph.inputs.push_back(wanted);
    losses.push_back(append_loss(model, how.kind, *output, wanted, how.scale, how.temperature));
  }
  require(!losses.empty(), "nothing to train for");
  const graph::SymbolicShape one = {1};
  ValueId loss = losses.front();
  for (size_t i = 1; i < losses.size(); ++i) {
    loss = graph.add_node("Add", {loss, losses[i]}, {}, 1, "", "loss.sum");
    graph.value(loss).type = ElementType::Float32;
    graph.value(loss).shape = one;
  }
  const ValueId unit = graph.add_constant("loss.unit", Tensor::of<float>({1}, {1.0F}));
  const Gradients gradients = append_backward(model, {{loss, unit}}, parameters);

  graph.outputs = {loss};
  training.loss = graph.value(loss).name;
  std::vector<ValueId> inputs;
  for (const ValueId id : graph.inputs) {
    const bool parameter = std::find(parameters.begin(), parameters.end(), id) != parameters.end();
    const auto gradient = gradients.find(id);
    if (parameter && gradient == gradients.end()) {
      // Nothing depends on it: it stays as it is.
      const std::optional<ValueId> original = source.graph.find(graph.value(id).name);
      graph.value(id).constant = *source.graph.constant(*original);
      continue;
    }
    inputs.push_back(id);
    if (!parameter) continue;
    training.parameters.push_back(graph.value(id).name);
    training.gradients.push_back(graph.value(gradient->second).name);
    graph.outputs.push_back(gradient->second);
  }
  graph.inputs = std::move(inputs);
  training.macs = graph_macs(model);
  return training;
}

}  // namespace opsmith::substitute
