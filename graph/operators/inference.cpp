#include <cmath>

#include "graph/operators/operator.h"
#include "support/error.h"

namespace opsmith::graph {
namespace {

bool is_integer(ElementType type) {
  return type == ElementType::Int64 || type == ElementType::Int32;
}

/// Constants of reals are followed for the sake of scales and factors, which are few.
constexpr int64_t kMostReals = 16;

/// Elements of a small constant; reals that are no integers are unknown.
std::optional<Elements> constant_elements(const Tensor& tensor) {
  if (tensor.count() > kMostElements) return std::nullopt;
  if (!is_integer(tensor.type()) && tensor.count() > kMostReals) return std::nullopt;
  Elements elements;
  if (is_integer(tensor.type())) {
    const Tensor wide = tensor.cast(ElementType::Int64);
    elements.assign(wide.data<int64_t>().begin(), wide.data<int64_t>().end());
    return elements;
  }
  if (tensor.type() != ElementType::Float32 && tensor.type() != ElementType::Float64) {
    return std::nullopt;
  }
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const Tensor wide = tensor.cast(ElementType::Float64);
  for (const double value : wide.data<double>()) {
    const bool whole = std::abs(value) < kExact && std::floor(value) == value;
    elements.push_back(whole ? Dimension(static_cast<int64_t>(value)) : Dimension());
  }
  return elements;
}

}  // namespace

Inference::Inference(const Node& node, int64_t opset, std::vector<ValueInfo> inputs,
                     InferBody infer_body)
    : node_(node),
      opset_(opset),
      inputs_(std::move(inputs)),
      outputs_(node.outputs.size()),
      infer_body_(std::move(infer_body)) {
  for (ValueInfo& input : inputs_) {
    if (input.constant.defined() && !input.elements) {
      input.elements = constant_elements(input.constant);
    }
  }
}

const ValueInfo& Inference::info(size_t i) const {
  static const ValueInfo nothing;
  return i < inputs_.size() ? inputs_[i] : nothing;
}

const Elements* Inference::elements(size_t i) const {
  const ValueInfo& input = info(i);
  return input.elements ? &*input.elements : nullptr;
}

std::optional<std::vector<int64_t>> Inference::numbers(size_t i) const {
  const Elements* known = elements(i);
  if (!known) return std::nullopt;
  std::vector<int64_t> result;
  for (const Dimension& element : *known) {
    if (!element.known()) return std::nullopt;
    result.push_back(*element.size);
  }
  return result;
}

std::optional<std::vector<double>> Inference::reals(size_t i) const {
  const Tensor* tensor = constant(i);
  if (!tensor || tensor->count() > kMostElements || !is_plain_data(tensor->type())) {
    return std::nullopt;
  }
  const Tensor wide = tensor->cast(ElementType::Float64);
  return std::vector<double>(wide.data<double>().begin(), wide.data<double>().end());
}

Inference::Setting Inference::attribute_or_input(const std::string& name, int64_t input_since,
                                                 size_t i) const {
  Setting setting;
  if (opset_ < input_since) {
    setting.given = node_.has(name);
    if (setting.given) setting.values = node_.integers(name);
  } else {
    setting.given = has_input(i);
    if (setting.given) setting.values = numbers(i);
  }
  return setting;
}

void Inference::set_type(size_t output, ElementType type) {
  if (output < outputs_.size()) outputs_[output].type = type;
}

void Inference::set_shape(size_t output, SymbolicShape shape) {
  if (output < outputs_.size()) outputs_[output].shape = std::move(shape);
}

void Inference::set_elements(size_t output, Elements elements) {
  if (output < outputs_.size() && elements.size() <= size_t{kMostElements}) {
    outputs_[output].elements = std::move(elements);
  }
}

void Inference::set_fill(size_t output, double fill) {
  if (output < outputs_.size()) outputs_[output].fill = fill;
}

void Inference::set(size_t output, ElementType type, std::optional<SymbolicShape> shape) {
  set_type(output, type);
  if (shape) set_shape(output, std::move(*shape));
}

void Inference::set(size_t output, ValueInfo info) {
  if (output < outputs_.size()) outputs_[output] = std::move(info);
}

size_t Inference::axis(int64_t value, size_t rank) const {
  const auto extent = static_cast<int64_t>(rank);
  if (value < -extent || value >= extent) {
    fail("axis " + std::to_string(value) + " does not exist in a tensor of rank " +
         std::to_string(rank));
  }
  return static_cast<size_t>(value < 0 ? value + extent : value);
}

void Inference::expect_rank(size_t i, size_t least, size_t most) const {
  const SymbolicShape* known = shape(i);
  if (known && (known->size() < least || known->size() > most)) {
    fail("input " + std::to_string(i) + " has the shape " + to_string(*known) +
         ", a rank that the operator does not take");
  }
}

void Inference::fail(const std::string& why) const {
  throw UserError("node " + describe(node_) + ": " + why);
}

}  // namespace opsmith::graph
