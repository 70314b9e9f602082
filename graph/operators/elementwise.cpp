#include "graph/operators/families.h"
#include "support/tensor_proto.h"

namespace opsmith::graph {
namespace {

/// Output like input 0; integers keep nothing of their elements.
void infer_same(Inference& inference) {
  inference.set_type(0, inference.type(0));
  if (inference.shape(0)) inference.set_shape(0, *inference.shape(0));
}

/// Like infer_same for what leaves integers as they are (Floor after a Cast, Identity).
void infer_same_elements(Inference& inference) {
  infer_same(inference);
  if (const Elements* elements = inference.elements(0)) inference.set_elements(0, *elements);
}

void infer_same_bool(Inference& inference) {
  infer_same(inference);
  inference.set_type(0, ElementType::Bool);
}

void infer_negate(Inference& inference) {
  infer_same(inference);
  const Elements* elements = inference.elements(0);
  if (!elements) return;
  Elements result;
  for (const Dimension& e : *elements) {
    result.push_back(e == Dimension(INT64_MIN) ? Dimension() : Dimension(0) - e);
  }
  inference.set_elements(0, std::move(result));
}

/// The type that the attribute `name` names by ONNX's number (or, in opset 1, by its word).
ElementType named_type(const Inference& inference, const std::string& name, ElementType fallback) {
  if (!inference.node().has(name)) return fallback;
  const auto* text = std::get_if<std::string>(&inference.node().attributes.at(name));
  if (text) return ElementType::Undefined;
  return element_type_from_onnx(inference.node().integer(name, 0));
}

bool keeps_integers(ElementType type) {
  return type == ElementType::Int32 || type == ElementType::Int64 || type == ElementType::Float32 ||
         type == ElementType::Float64;
}

void infer_cast(Inference& inference) {
  const ElementType type = named_type(inference, "to", ElementType::Undefined);
  inference.set_type(0, type);
  if (inference.shape(0)) inference.set_shape(0, *inference.shape(0));
  const Elements* elements = inference.elements(0);
  if (elements && keeps_integers(type)) inference.set_elements(0, *elements);
}

void infer_cast_like(Inference& inference) {
  inference.set_type(0, inference.type(1));
  if (inference.shape(0)) inference.set_shape(0, *inference.shape(0));
}

/// Random tensors and EyeLike, shaped like the input.
void infer_like(Inference& inference) {
  inference.set_type(0, named_type(inference, "dtype", inference.type(0)));
  if (inference.shape(0)) inference.set_shape(0, *inference.shape(0));
}

}  // namespace

std::span<const OperatorDefinition> elementwise_operators() {
  static const OperatorDefinition operators[] = {
      {"Abs", infer_same},
      {"Acos", infer_same},
      {"Acosh", infer_same},
      {"Asin", infer_same},
      {"Asinh", infer_same},
      {"Atan", infer_same},
      {"Atanh", infer_same},
      {"Bernoulli", infer_like},
      {"BitwiseNot", infer_same},
      {"Cast", infer_cast},
      {"CastLike", infer_cast_like},
      {"Ceil", infer_same_elements},
      {"Celu", infer_same},
      {"Clip", infer_same},
      {"Cos", infer_same},
      {"Cosh", infer_same},
      {"CumSum", infer_same},
      {"Elu", infer_same},
      {"Erf", infer_same},
      {"Exp", infer_same},
      {"EyeLike", infer_like},
      {"Floor", infer_same_elements},
      {"Gelu", infer_same},
      {"HardSigmoid", infer_same},
      {"HardSwish", infer_same},
      {"Identity", infer_same_elements},
      {"IsInf", infer_same_bool},
      {"IsNaN", infer_same_bool},
      {"LeakyRelu", infer_same},
      {"Log", infer_same},
      {"Mish", infer_same},
      {"Neg", infer_negate},
      {"Not", infer_same_bool},
      {"PRelu", infer_same},
      {"RandomNormalLike", infer_like},
      {"RandomUniformLike", infer_like},
      {"Reciprocal", infer_same},
      {"Relu", infer_same},
      {"Round", infer_same_elements},
      {"Selu", infer_same},
      {"Shrink", infer_same},
      {"Sigmoid", infer_same},
      {"Sign", infer_same},
      {"Sin", infer_same},
      {"Sinh", infer_same},
      {"Softplus", infer_same},
      {"Softsign", infer_same},
      {"Sqrt", infer_same},
      {"Tan", infer_same},
      {"Tanh", infer_same},
      {"ThresholdedRelu", infer_same},
  };
  return operators;
}

}  // namespace opsmith::graph
