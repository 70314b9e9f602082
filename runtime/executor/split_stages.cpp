#include "runtime/executor/split_stages.h"

#include <algorithm>

namespace opsmith::executor {
namespace {

using expression::Scalar;
using expression::Stage;

std::vector<std::string> tensors_of(const Stage& stage) {
  std::vector<std::string> names;
  auto add = [&](const Scalar& scalar) {
    for (const Scalar& read : expression::reads(scalar)) {
      if (std::find(names.begin(), names.end(), read.tensor()) == names.end()) {
        names.push_back(read.tensor());
      }
    }
  };
  add(stage.body);
  if (stage.epilogue) add(*stage.epilogue);
  return names;
}

Shape numbers(const std::vector<expression::Index>& extents) {
  Shape shape;
  for (const expression::Index& extent : extents) shape.push_back(extent.value());
  return shape;
}

void split(const Operation& operation, OperationList& list, std::vector<Operation>& into) {
  std::map<std::string, ValueId> made;  // stage to the value it becomes
  size_t number = 0;
  for (const Stage& original : operation.program.stages) {
    Operation part;
    part.kind = Operation::Kind::Expression;
    part.type = operation.type;
    part.name = operation.name + "." + std::to_string(++number);
    part.program.name = operation.program.name;
    Stage stage = original;
    auto rename = [&](const Scalar& scalar) {
      if (scalar.kind() != Scalar::Kind::Read) return scalar;
      auto found = made.find(scalar.tensor());
      return found == made.end() ? scalar
                                 : Scalar::read(tensor_name(found->second), scalar.indices());
    };
    std::vector<std::string> used = tensors_of(stage);
    stage.body = transform(stage.body, rename);
    if (stage.epilogue) stage.epilogue = transform(*stage.epilogue, rename);
    for (const std::string& name : used) {
      auto found = made.find(name);
      if (found == made.end()) continue;
      const Stage* source = operation.program.find_stage(name);
      part.program.inputs.push_back({tensor_name(found->second), source->type, source->shape()});
      part.inputs.push_back(found->second);
    }
    size_t position = 0;
    for (bool weight : {false, true}) {
      for (const auto& declaration :
           weight ? operation.program.weights : operation.program.inputs) {
        ValueId id = operation.inputs.at(position++);
        if (std::find(used.begin(), used.end(), declaration.name) == used.end()) continue;
        (weight ? part.program.weights : part.program.inputs).push_back(declaration);
        part.inputs.push_back(id);
      }
    }
    bool last = original.name == operation.program.outputs[0];
    if (last) {
      part.outputs = operation.outputs;
    } else {
      PlanValue value;
      value.name = operation.name + "." + original.name;
      value.type = stage.type;
      value.shape = numbers(stage.shape());
      value.layout = schedule::Layout::row_major(value.shape->size());
      part.outputs = {list.add(std::move(value))};
    }
    made[original.name] = part.outputs[0];
    part.program.outputs = {stage.name};
    part.program.stages = {std::move(stage)};
    into.push_back(std::move(part));
  }
}

}  // namespace

int split_stages(OperationList& list) {
  std::vector<Operation> operations;
  std::swap(operations, list.operations);
  int added = 0;
  for (Operation& operation : operations) {
    const auto& stages = operation.program.stages;
    bool splits = operation.kind == Operation::Kind::Expression && operation.type == "opsmith" &&
                  stages.size() > 1 && operation.outputs.size() == 1 &&
                  stages.back().name == operation.program.outputs[0];
    if (splits) {
      split(operation, list, list.operations);
      added += static_cast<int>(stages.size()) - 1;
    } else {
      list.operations.push_back(std::move(operation));
    }
  }
  return added;
}

}  // namespace opsmith::executor
