#include "runtime/executor/node_evaluation.h"

#include <algorithm>

#include "runtime/executor/evaluator.h"
#include "runtime/expression/interpreter.h"
#include "runtime/kernels/lowering.h"
#include "support/error.h"

namespace opsmith::executor {
namespace {

kernels::LoweringContext context_of(const graph::Model& model, std::span<const Tensor> inputs) {
  kernels::LoweringContext context;
  context.model = &model;
  for (const Tensor& input : inputs) {
    context.input_shapes.push_back(input.shape());
    context.input_types.push_back(input.type());
    context.constants.push_back(input.defined() ? &input : nullptr);
  }
  return context;
}

bool is_half(const Tensor& tensor) {
  return tensor.type() == ElementType::Float16 || tensor.type() == ElementType::BFloat16;
}

// Kernels that compute know no half types: they run in f32, and f32 results are rounded back.
std::vector<Tensor> evaluate_widened(const graph::Node& node, const graph::Model& model,
                                     std::span<const Tensor> inputs, ElementType half) {
  std::vector<Tensor> wide;
  for (const Tensor& input : inputs) {
    wide.push_back(is_half(input) ? input.cast(ElementType::Float32) : input);
  }
  std::vector<Tensor> outputs = evaluate_node(node, model, wide);
  for (Tensor& output : outputs) {
    if (output.type() == ElementType::Float32) output = output.cast(half);
  }
  return outputs;
}

std::vector<Tensor> interpret_lowered(const kernels::Lowered& lowered,
                                      std::span<const Tensor> inputs) {
  const expression::Program& program = lowered.program;
  expression::Tensors tensors;
  size_t position = 0;
  for (const auto* declarations : {&program.inputs, &program.weights}) {
    for (const expression::TensorDeclaration& declaration : *declarations) {
      tensors[declaration.name] = inputs[static_cast<size_t>(lowered.arguments.at(position++))];
    }
  }
  expression::Tensors results = expression::interpret(program, tensors);
  std::vector<Tensor> outputs;
  for (const std::string& name : program.outputs) outputs.push_back(results.at(name));
  return outputs;
}

class KernelEvaluator : public graph::Evaluator {
 public:
  bool supports(const graph::Node& node, const graph::Model&) const override {
    return can_evaluate(node);
  }
  std::vector<Tensor> evaluate(const graph::Node& node, const graph::Model& model,
                               std::span<const Tensor> inputs) const override {
    return evaluate_node(node, model, inputs);
  }
};

}  // namespace

bool can_evaluate(const graph::Node& node) {
  return kernels::find_kernel(node.domain, node.type) != nullptr;
}

std::vector<Tensor> evaluate_node(const graph::Node& node, const graph::Model& model,
                                  std::span<const Tensor> inputs) {
  const kernels::KernelDefinition* definition = kernels::find_kernel(node.domain, node.type);
  if (definition == nullptr) {
    throw Unsupported(graph::describe(node) + " has no kernel in the runtime");
  }
  if (definition->lowering) {
    if (auto lowered = definition->lowering(node, context_of(model, inputs))) {
      return interpret_lowered(*lowered, inputs);
    }
  }
  auto half = std::find_if(inputs.begin(), inputs.end(), is_half);
  bool moves_only = definition->plain && !definition->lowering;
  if (half != inputs.end() && !moves_only) {
    return evaluate_widened(node, model, inputs, half->type());
  }
  if (!definition->plain) {
    throw Unsupported(graph::describe(node) +
                      " is not supported for these element types or attributes");
  }
  return definition->plain({node, model, inputs, nullptr});
}

std::unique_ptr<graph::Evaluator> make_evaluator() { return std::make_unique<KernelEvaluator>(); }

}  // namespace opsmith::executor
