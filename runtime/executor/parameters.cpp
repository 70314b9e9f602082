#include "runtime/executor/parameters.h"

#include <algorithm>

namespace opsmith::executor {
namespace {

// Moves what the program reads of `parameters` from its inputs to its weights.
void move_to_weights(Operation& operation, const std::vector<ValueId>& parameters) {
  expression::Program& program = operation.program;
  std::vector<expression::TensorDeclaration> inputs, weights;
  std::vector<ValueId> input_ids, weight_ids;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const bool moves =
        std::binary_search(parameters.begin(), parameters.end(), operation.inputs[i]);
    (moves ? weights : inputs).push_back(program.inputs[i]);
    (moves ? weight_ids : input_ids).push_back(operation.inputs[i]);
  }
  weights.insert(weights.end(), program.weights.begin(), program.weights.end());
  weight_ids.insert(weight_ids.end(),
                    operation.inputs.begin() + static_cast<int64_t>(program.inputs.size()),
                    operation.inputs.end());
  program.inputs = std::move(inputs);
  program.weights = std::move(weights);
  operation.inputs = std::move(input_ids);
  operation.inputs.insert(operation.inputs.end(), weight_ids.begin(), weight_ids.end());
}

}  // namespace

std::vector<ValueId> mark_parameters(OperationList& list, const std::vector<std::string>& names) {
  std::vector<ValueId> parameters;
  for (const ValueId id : list.inputs) {
    if (std::find(names.begin(), names.end(), list.value(id).name) != names.end()) {
      parameters.push_back(id);
    }
  }
  std::sort(parameters.begin(), parameters.end());
  if (parameters.empty()) return parameters;
  for (Operation& operation : list.operations) {
    if (operation.kind == Operation::Kind::Expression) move_to_weights(operation, parameters);
  }
  return parameters;
}

Operation copy_between_layouts(const PlanValue& value, ValueId from, ValueId to) {
  Operation copy;
  copy.kind = Operation::Kind::Expression;
  copy.name = value.name;
  copy.type = "pack";
  expression::Stage stage;
  stage.name = tensor_name(to);
  stage.type = value.type;
  std::vector<expression::Index> shape, place;
  for (size_t d = 0; d < value.shape->size(); ++d) {
    shape.emplace_back((*value.shape)[d]);
    stage.axes.push_back({"i" + std::to_string(d), shape.back()});
    place.push_back(expression::Index::iterator(stage.axes.back().name));
  }
  stage.body = expression::Scalar::read(tensor_name(from), std::move(place));
  copy.program.name = "pack";
  copy.program.inputs = {{tensor_name(from), value.type, std::move(shape)}};
  copy.program.outputs = {stage.name};
  copy.program.stages = {std::move(stage)};
  copy.inputs = {from};
  copy.outputs = {to};
  return copy;
}

}  // namespace opsmith::executor
