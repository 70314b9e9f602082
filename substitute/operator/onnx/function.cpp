#include <algorithm>

#include "substitute/operator/candidate.h"
#include "substitute/operator/layer.h"
#include "substitute/operator/onnx/stage.h"
#include "support/error.h"

namespace opsmith::substitute {

graph::Function onnx_function(const Candidate& candidate, const LayerShape& layer, int64_t opset,
                              const std::string& function_name, bool with_bias) {
  if (opset < 9 || opset > 22)
    throw Unsupported("operators can be written in opset 9 to 22, not " + std::to_string(opset));
  // Fixed height and width become numbers; the batch, the rows of a product and what is dynamic
  // stay symbols.
  const expression::Program program =
      expression::instantiate(candidate.program, fixed_extents(layer));
  require(program.outputs.size() == 1 && program.stages.back().name == program.outputs[0],
          "the last stage of " + candidate.name + " is not its output");

  graph::Function function;
  function.domain = "opsmith";
  function.name = function_name;
  function.attributes = {"program"};
  function.opsets[""] = opset;
  function.documentation = candidate.formula;
  graph::Graph& graph = function.body;
  graph.name = function_name;
  onnx::Body body(graph, opset);
  onnx::Tensors tensors(body);
  const auto add_input = [&](const std::string& name, ElementType type) {
    graph::Value value;
    value.name = name;
    value.type = type;
    graph.inputs.push_back(graph.add_value(std::move(value)));
    return graph.inputs.back();
  };
  const auto declare = [&](const expression::TensorDeclaration& declaration) {
    tensors.add(declaration.name,
                {add_input(declaration.name, declaration.type), declaration.shape});
  };
  for (const auto& input : program.inputs) declare(input);
  for (const auto& weight : program.weights) declare(weight);
  std::optional<graph::ValueId> bias;
  if (with_bias) bias = add_input("bias", ElementType::Float32);

  for (const expression::Stage& stage : program.stages) {
    const bool last = &stage == &program.stages.back();
    onnx::StageContext context{program, body, tensors, last ? bias : std::nullopt};
    if (onnx::emit_convolution(stage, context) || onnx::emit_product(stage, context) ||
        onnx::emit_shifted_convolution(stage, context) || onnx::emit_moved_outputs(stage, context))
      continue;
    onnx::emit_general(stage, context);
  }
  const graph::ValueId output = tensors.whole(program.outputs[0]).id;
  graph.value(output).name = "y";
  graph.outputs.push_back(output);
  return function;
}

}  // namespace opsmith::substitute
