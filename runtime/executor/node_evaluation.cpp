#include "runtime/executor/node_evaluation.h"

#include <algorithm>
#include <new>
#include <stdexcept>

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

/// Kernels that move elements know none without a fixed size: strings are moved as their positions.
class MovedStrings {
 public:
  static bool needed(std::span<const Tensor> inputs) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [](const Tensor& t) { return t.type() == ElementType::String; });
  }

  explicit MovedStrings(std::span<const Tensor> inputs) : strings_(1) {  // position 0: ""
    for (const Tensor& input : inputs) {
      if (input.type() != ElementType::String) {
        inputs_.push_back(input);
        continue;
      }
      Tensor positions(ElementType::Int64, input.shape());
      for (size_t i = 0; i < input.strings().size(); ++i) {
        positions.data<int64_t>()[i] = static_cast<int64_t>(strings_.size());
        strings_.push_back(&input.strings()[i]);
      }
      inputs_.push_back(std::move(positions));
    }
  }

  std::span<const Tensor> inputs() const { return inputs_; }

  Tensor restore(const Tensor& positions) const {
    Tensor result(ElementType::String, positions.shape());
    for (size_t i = 0; i < result.strings().size(); ++i) {
      const std::string* text = strings_.at(static_cast<size_t>(positions.data<int64_t>()[i]));
      if (text != nullptr) result.strings()[i] = *text;
    }
    return result;
  }

 private:
  std::vector<Tensor> inputs_;
  std::vector<const std::string*> strings_;
};

// Kernels that compute know no half types: they run in f32, and f32 results are rounded back, but
// for those that are f32 by definition.
std::vector<Tensor> evaluate_widened(const graph::Node& node, const graph::Model& model,
                                     std::span<const Tensor> inputs, ElementType half) {
  std::vector<Tensor> wide;
  for (const Tensor& input : inputs) {
    wide.push_back(is_half(input) ? input.cast(ElementType::Float32) : input);
  }
  std::vector<Tensor> outputs = evaluate_node(node, model, wide);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool statistics = node.is("LayerNormalization") && i > 0;
    if (outputs[i].type() == ElementType::Float32 && !statistics)
      outputs[i] = outputs[i].cast(half);
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

std::vector<Tensor> evaluate_plain(const graph::Node& node, const graph::Model& model,
                                   std::span<const Tensor> inputs, const Placement& place) {
  const kernels::KernelDefinition& definition = *kernels::find_kernel(node.domain, node.type);
  const auto half = std::find_if(inputs.begin(), inputs.end(), is_half);
  if (half != inputs.end() && kernels::computes_wide(definition, node)) {
    return evaluate_widened(node, model, inputs, half->type());
  }
  if (!definition.plain) {
    throw Unsupported(graph::describe(node) +
                      " is not supported for these element types or attributes");
  }
  if (definition.handling == kernels::Handling::Moved && MovedStrings::needed(inputs)) {
    const MovedStrings moved(inputs);
    std::vector<Tensor> outputs = definition.plain({node, model, moved.inputs(), nullptr});
    for (Tensor& output : outputs) output = moved.restore(output);
    return outputs;
  }
  return definition.plain({node, model, inputs, place});
}

std::vector<Tensor> evaluate_node(const graph::Node& node, const graph::Model& model,
                                  std::span<const Tensor> inputs) {
  const kernels::KernelDefinition* definition = kernels::find_kernel(node.domain, node.type);
  if (definition == nullptr) {
    throw Unsupported(graph::describe(node) + " has no kernel in the runtime");
  }
  try {
    if (definition->lowering) {
      if (auto lowered = definition->lowering(node, context_of(model, inputs))) {
        return interpret_lowered(*lowered, inputs);
      }
    }
    return evaluate_plain(node, model, inputs, nullptr);
  } catch (const std::bad_alloc&) {
    throw UserError(graph::describe(node) + ": its tensors do not fit into memory");
  } catch (const std::length_error&) {
    throw UserError(graph::describe(node) + ": its tensors do not fit into memory");
  }
}

std::unique_ptr<graph::Evaluator> make_evaluator() { return std::make_unique<KernelEvaluator>(); }

}  // namespace opsmith::executor
