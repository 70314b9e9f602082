#include "runtime/kernels/program_builder.h"

#include <algorithm>

#include "runtime/kernels/attributes.h"
#include "support/error.h"

namespace opsmith::kernels {

using expression::Axis;
using expression::Index;
using expression::Scalar;
using expression::Stage;

bool ProgramBuilder::has(size_t input) const {
  return input < input_count() && context_.input_types[input] != ElementType::Undefined;
}

bool ProgramBuilder::all_of_type(ElementType type) const {
  return std::all_of(context_.input_types.begin(), context_.input_types.end(),
                     [type](ElementType t) { return t == type || t == ElementType::Undefined; });
}

bool ProgramBuilder::takes_reals() {
  if (all_of_type(ElementType::Float32)) return true;
  if (!all_of_type(ElementType::Float64)) return false;
  real_ = ElementType::Float64;
  return true;
}

bool ProgramBuilder::takes_numbers() {
  if (takes_reals()) return true;
  const ElementType first = type(0);
  const bool integer = first == ElementType::Int32 || first == ElementType::Int64 ||
                       first == ElementType::UInt32 || first == ElementType::UInt64 ||
                       first == ElementType::Int8 || first == ElementType::UInt8 ||
                       first == ElementType::Int16 || first == ElementType::UInt16;
  if (!integer || !all_of_type(first)) return false;
  real_ = first;
  return true;
}

bool ProgramBuilder::takes_reals(size_t input) {
  if (type(input) == ElementType::Float32 || type(input) == ElementType::Float64) {
    real_ = type(input);
    return true;
  }
  return false;
}

const Tensor* ProgramBuilder::constant(size_t input) const {
  return input < context_.constants.size() ? context_.constants[input] : nullptr;
}

std::vector<int64_t> ProgramBuilder::integers(size_t input, const std::string& attribute,
                                              const std::vector<int64_t>& fallback) const {
  if (has(input)) {
    const Tensor* tensor = constant(input);
    if (tensor == nullptr) unsupported("input " + std::to_string(input) + " is not constant");
    return to_integers(*tensor, node_);
  }
  return node_.integers(attribute, fallback);
}

Scalar ProgramBuilder::read(size_t input, std::vector<Index> indices) {
  const Tensor* tensor = constant(input);
  // Integers of 64 bits may not be exact as the number in the program.
  const bool exact = tensor != nullptr && tensor->type() != ElementType::Int64 &&
                     tensor->type() != ElementType::UInt64;
  if (tensor != nullptr && tensor->count() == 1 && exact) {
    switch (tensor->type()) {
      case ElementType::String:
        break;
      default: {
        Tensor wide = tensor->cast(ElementType::Float64);
        return Scalar::constant(wide.data<double>()[0]);
      }
    }
  }
  int number = static_cast<int>(input);
  if (std::find(declared_.begin(), declared_.end(), number) == declared_.end()) {
    declared_.push_back(number);
  }
  return Scalar::read("x" + std::to_string(input), std::move(indices));
}

Scalar ProgramBuilder::read_broadcast(size_t input, const Shape& output) {
  return read_broadcast(input, shape(input), output);
}

Scalar ProgramBuilder::read_broadcast(size_t input, const Shape& from, const Shape& output) {
  std::vector<Index> indices;
  size_t skipped = output.size() - from.size();
  for (size_t i = 0; i < shape(input).size(); ++i) {
    bool repeated = from[i] == 1 && output[skipped + i] != 1;
    indices.push_back(repeated ? Index(0) : axis(skipped + i));
  }
  return read(input, std::move(indices));
}

Scalar ProgramBuilder::read_along(size_t input, size_t along) { return read(input, {axis(along)}); }

std::string ProgramBuilder::add_stage(Stage stage) {
  stages_.push_back(std::move(stage));
  return stages_.back().name;
}

Lowered ProgramBuilder::finish(const std::vector<std::string>& outputs) {
  Lowered lowered;
  lowered.program.name = node_.type;
  std::sort(declared_.begin(), declared_.end());
  for (bool weights : {false, true}) {
    for (int input : declared_) {
      size_t i = static_cast<size_t>(input);
      if ((constant(i) != nullptr) != weights) continue;
      expression::TensorDeclaration declaration;
      declaration.name = "x" + std::to_string(input);
      declaration.type = type(i);
      for (int64_t extent : shape(i)) declaration.shape.push_back(Index(extent));
      (weights ? lowered.program.weights : lowered.program.inputs)
          .push_back(std::move(declaration));
      lowered.arguments.push_back(input);
    }
  }
  for (Stage& stage : stages_) {
    if (stage.type != ElementType::Float32) continue;
    stage.type = real_;
    stage.accumulation = real_;
  }
  lowered.program.stages = std::move(stages_);
  lowered.program.outputs = outputs;
  return lowered;
}

void ProgramBuilder::unsupported(const std::string& what) const {
  throw Unsupported(describe(node_) + ": " + what);
}

Index axis(size_t n) { return Index::iterator("i" + std::to_string(n)); }
Index reduction_axis(size_t n) { return Index::iterator("r" + std::to_string(n)); }

std::vector<Index> all_axes(size_t rank) {
  std::vector<Index> indices;
  for (size_t i = 0; i < rank; ++i) indices.push_back(axis(i));
  return indices;
}

namespace {

std::vector<Axis> named_axes(const Shape& extents, const std::string& prefix) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < extents.size(); ++i) {
    axes.push_back({prefix + std::to_string(i), Index(extents[i])});
  }
  return axes;
}

}  // namespace

std::vector<Axis> make_axes(const Shape& extents) { return named_axes(extents, "i"); }
std::vector<Axis> make_reduction_axes(const Shape& extents) { return named_axes(extents, "r"); }

Stage map_stage(const std::string& name, const Shape& shape, Scalar body, ElementType type) {
  Stage stage;
  stage.name = name;
  stage.type = type;
  stage.axes = make_axes(shape);
  stage.body = std::move(body);
  return stage;
}

Stage reduce_stage(const std::string& name, const Shape& shape, expression::Reduction reduction,
                   const Shape& extents, Scalar body) {
  Stage stage = map_stage(name, shape, std::move(body));
  stage.reduction = reduction;
  stage.reduction_axes = make_reduction_axes(extents);
  return stage;
}

}  // namespace opsmith::kernels
