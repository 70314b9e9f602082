#include "substitute/refit/backward/stage_node.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::substitute {

namespace {

using expression::Program;
using expression::Stage;
using graph::Graph;
using graph::Node;
using graph::ValueId;

/// Tensors that a stage reads, each once.
std::vector<std::string> tensors_of(const Stage& stage) {
  std::vector<expression::Scalar> all = expression::reads(stage.body);
  if (stage.epilogue) {
    const auto more = expression::reads(*stage.epilogue);
    all.insert(all.end(), more.begin(), more.end());
  }
  std::vector<std::string> names;
  for (const expression::Scalar& read : all) {
    if (std::find(names.begin(), names.end(), read.tensor()) == names.end()) {
      names.push_back(read.tensor());
    }
  }
  return names;
}

/// A stage that reads nothing is the same everywhere but for its positions; only constants occur.
Tensor constant_stage(const Stage& stage, const Shape& shape) {
  require(stage.body.kind() == expression::Scalar::Kind::Constant && !stage.epilogue &&
              stage.reduction == expression::Reduction::None && stage.type == ElementType::Float32,
          "a stage without reads that is not constant");
  Tensor tensor(ElementType::Float32, shape);
  for (float& value : tensor.data<float>()) value = static_cast<float>(stage.body.value());
  return tensor;
}

}  // namespace

Shape known_shape(const Graph& graph, ValueId id) {
  const graph::Value& value = graph.value(id);
  if (value.constant) return value.constant->shape();
  const auto shape = value.shape ? graph::concrete(*value.shape) : std::nullopt;
  require(shape.has_value(), "the shape of '" + value.name + "' is not known");
  return *shape;
}

std::optional<kernels::Lowered> lower_node(const graph::Model& model, const Node& node) {
  const kernels::KernelDefinition* definition = kernels::find_kernel(node.domain, node.type);
  if (definition == nullptr || !definition->lowering) return std::nullopt;
  kernels::LoweringContext context;
  context.model = &model;
  for (const ValueId id : node.inputs) {
    const bool absent = id == graph::kNoValue;
    context.input_shapes.push_back(absent ? Shape{} : known_shape(model.graph, id));
    const Tensor* constant = absent ? nullptr : model.graph.constant(id);
    context.input_types.push_back(absent     ? ElementType::Undefined
                                  : constant ? constant->type()
                                             : model.graph.value(id).type);
    context.constants.push_back(constant);
  }
  return definition->lowering(node, context);
}

Node make_stage_node(Graph& graph, const Program& program, const Stage& stage,
                     const std::map<std::string, ValueId>& tensors, const std::string& name) {
  Shape shape;
  for (const expression::Index& extent : stage.shape()) shape.push_back(extent.value());
  const graph::SymbolicShape symbolic(shape.begin(), shape.end());
  Node node;
  node.name = name;
  const std::vector<std::string> used = tensors_of(stage);
  if (used.empty()) {
    node.type = "Identity";
    node.inputs = {graph.add_constant(name, constant_stage(stage, shape))};
    node.outputs = {graph.add_unnamed(name, stage.type, symbolic)};
    return node;
  }
  Program single;
  single.name = "stage";
  for (const std::string& tensor : used) {
    single.inputs.push_back({tensor, program.type_of(tensor), program.shape_of(tensor)});
    node.inputs.push_back(tensors.at(tensor));
  }
  single.stages = {stage};
  single.outputs = {stage.name};
  node.domain = "opsmith";
  node.type = "stage";
  node.attributes["program"] = expression::print(single);
  node.outputs = {graph.add_unnamed(name, stage.type, symbolic)};
  return node;
}

void split_into_stages(graph::Model& model) {
  Graph& graph = model.graph;
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    const std::optional<kernels::Lowered> lowered = lower_node(model, node);
    const bool splits = lowered && lowered->program.stages.size() > 1 &&
                        lowered->program.outputs.size() == 1 &&
                        lowered->program.outputs[0] == lowered->program.stages.back().name;
    if (!splits) {
      nodes.push_back(std::move(node));
      continue;
    }
    const Program& program = lowered->program;
    std::map<std::string, ValueId> tensors;
    size_t position = 0;
    for (const auto* declarations : {&program.inputs, &program.weights}) {
      for (const auto& declaration : *declarations) {
        tensors[declaration.name] =
            node.inputs.at(static_cast<size_t>(lowered->arguments.at(position++)));
      }
    }
    for (const Stage& stage : program.stages) {
      Node part = make_stage_node(graph, program, stage, tensors, node.name + "." + stage.name);
      if (&stage == &program.stages.back()) part.outputs = {node.outputs.front()};
      tensors[stage.name] = part.outputs.front();
      nodes.push_back(std::move(part));
    }
  }
  graph.nodes = std::move(nodes);
  model.opsets["opsmith"] = 1;
}

}  // namespace opsmith::substitute
