#include <algorithm>

#include "graph/operators/families.h"
#include "support/error.h"
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

std::optional<SymbolicShape> broadcast_shape(const Inference& inference, size_t first,
                                             size_t count) {
  std::optional<SymbolicShape> result = SymbolicShape{};
  for (size_t i = first; i < first + count; ++i) {
    if (!inference.shape(i)) return std::nullopt;
    result = broadcast(*result, *inference.shape(i));
    if (result) continue;
    std::string shapes;
    for (size_t k = first; k <= i; ++k) {
      shapes += (k > first ? ", " : "") + to_string(*inference.shape(k));
    }
    inference.fail("inputs of shapes " + shapes + " cannot be broadcast");
  }
  return result;
}

/// Before opset 7 the second operand is fitted to the first by the attributes broadcast and axis.
bool old_broadcast(const Inference& inference) {
  return inference.opset() < 7 && inference.input_count() == 2;
}

void set_broadcast(Inference& inference, ElementType type) {
  inference.set_type(0, type);
  if (old_broadcast(inference)) {
    if (inference.shape(0)) inference.set_shape(0, *inference.shape(0));
  } else if (auto shape = broadcast_shape(inference, 0, inference.input_count())) {
    inference.set_shape(0, std::move(*shape));
  }
}

ElementType first_known_type(const Inference& inference, size_t first = 0) {
  for (size_t i = first; i < inference.input_count(); ++i) {
    if (inference.type(i) != ElementType::Undefined) return inference.type(i);
  }
  return ElementType::Undefined;
}

/// `combine`, and unknown where the numbers overflow: the tensor need not be a shape at all.
template <typename Function>
Dimension followed(Function combine, const Dimension& a, const Dimension& b) {
  try {
    return combine(a, b);
  } catch (const UserError&) {
    return {};
  }
}

/// Follows elements through arithmetic on tensors of one element or of equal size.
template <typename Function>
void follow(Inference& inference, Function combine) {
  const Elements* a = inference.elements(0);
  const Elements* b = inference.elements(1);
  if (!a || !b || !inference.shape(0) || !inference.shape(1)) return;
  if (inference.shape(0)->size() > 1 || inference.shape(1)->size() > 1) return;
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return;
  Elements result;
  const size_t count = a->size() == 1 ? b->size() : a->size();
  for (size_t i = 0; i < count; ++i) {
    result.push_back(followed(combine, (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]));
  }
  inference.set_elements(0, std::move(result));
}

void infer_add(Inference& inference) {
  set_broadcast(inference, first_known_type(inference));
  follow(inference, [](const Dimension& a, const Dimension& b) { return a + b; });
}

void infer_subtract(Inference& inference) {
  set_broadcast(inference, first_known_type(inference));
  follow(inference, [](const Dimension& a, const Dimension& b) { return a - b; });
}

void infer_multiply(Inference& inference) {
  set_broadcast(inference, first_known_type(inference));
  follow(inference, [](const Dimension& a, const Dimension& b) { return a * b; });
}

bool is_real(ElementType type) {
  return type == ElementType::Float32 || type == ElementType::Float64 ||
         type == ElementType::Float16 || type == ElementType::BFloat16;
}

/// Integer division truncates towards zero, division of reals is exact or not followed.
void infer_divide(Inference& inference) {
  set_broadcast(inference, first_known_type(inference));
  const bool real = is_real(inference.type(0));
  follow(inference, [real](const Dimension& a, const Dimension& b) {
    if (!b.known() || *b.size == 0) return a == b && !a.symbol.empty() ? Dimension(1) : Dimension();
    if (a.known()) {
      if (real && *a.size % *b.size != 0) return Dimension();
      return *b.size == -1 ? Dimension() : Dimension(*a.size / *b.size);
    }
    if (*b.size == 1) return a;
    // Symbols stand for sizes, so that rounding down is truncation.
    return real || *b.size < 0 ? Dimension() : floor_divide(a, b);
  });
}

void infer_modulo(Inference& inference) {
  set_broadcast(inference, first_known_type(inference));
  follow(inference, [](const Dimension& a, const Dimension& b) {
    const bool plain = a.known() && b.known() && *a.size >= 0 && *b.size > 0;
    return plain ? Dimension(*a.size % *b.size) : Dimension();
  });
}

void infer_maximum(Inference& inference) {
  set_broadcast(inference, first_known_type(inference));
  if (inference.input_count() != 2) return;
  follow(inference, [](const Dimension& a, const Dimension& b) {
    if (a == b) return a;
    return a.known() && b.known() ? Dimension(std::max(*a.size, *b.size)) : Dimension();
  });
}

void infer_minimum(Inference& inference) {
  set_broadcast(inference, first_known_type(inference));
  if (inference.input_count() != 2) return;
  follow(inference, [](const Dimension& a, const Dimension& b) {
    if (a == b) return a;
    return a.known() && b.known() ? Dimension(std::min(*a.size, *b.size)) : Dimension();
  });
}

void infer_broadcast(Inference& inference) {
  set_broadcast(inference, first_known_type(inference));
}

void infer_power(Inference& inference) { set_broadcast(inference, inference.type(0)); }

void infer_comparison(Inference& inference) { set_broadcast(inference, ElementType::Bool); }

void infer_equal(Inference& inference) {
  set_broadcast(inference, ElementType::Bool);
  follow(inference, [](const Dimension& a, const Dimension& b) {
    if (a.known() && b.known()) return Dimension(*a.size == *b.size ? 1 : 0);
    if (!a.symbol.empty() && a.symbol == b.symbol) return Dimension(1);
    // A symbol stands for a size, which is never negative.
    const bool negative = (a.known() && *a.size < 0) || (b.known() && *b.size < 0);
    const bool symbolic = !a.symbol.empty() || !b.symbol.empty();
    return negative && symbolic ? Dimension(0) : Dimension();
  });
}

/// Condition, then, else.
void infer_where(Inference& inference) {
  inference.set(0, first_known_type(inference, 1), broadcast_shape(inference, 0, 3));
  const Elements* condition = inference.elements(0);
  const Elements* then = inference.elements(1);
  const Elements* otherwise = inference.elements(2);
  if (!condition || !then || !otherwise) return;
  const size_t count = std::max({condition->size(), then->size(), otherwise->size()});
  Elements result;
  for (size_t i = 0; i < count; ++i) {
    const auto at = [&](const Elements& e) {
      return e.size() == 1 ? e[0] : i < e.size() ? e[i] : Dimension();
    };
    const Dimension c = at(*condition);
    const Dimension a = at(*then);
    const Dimension b = at(*otherwise);
    result.push_back(c.known() ? (*c.size != 0 ? a : b) : a == b ? a : Dimension());
  }
  inference.set_elements(0, std::move(result));
}

void infer_negate(Inference& inference) {
  infer_same(inference);
  if (const Elements* elements = inference.elements(0)) {
    Elements result;
    for (const Dimension& e : *elements) {
      result.push_back(
          followed([](const Dimension& a, const Dimension& b) { return a - b; }, 0, e));
    }
    inference.set_elements(0, std::move(result));
  }
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
      {"Add", infer_add},
      {"And", infer_comparison},
      {"Asin", infer_same},
      {"Asinh", infer_same},
      {"Atan", infer_same},
      {"Atanh", infer_same},
      {"Bernoulli", infer_like},
      {"BitShift", infer_broadcast},
      {"BitwiseAnd", infer_broadcast},
      {"BitwiseNot", infer_same},
      {"BitwiseOr", infer_broadcast},
      {"BitwiseXor", infer_broadcast},
      {"Cast", infer_cast},
      {"CastLike", infer_cast_like},
      {"Ceil", infer_same_elements},
      {"Celu", infer_same},
      {"Clip", infer_same},
      {"Cos", infer_same},
      {"Cosh", infer_same},
      {"CumSum", infer_same},
      {"Div", infer_divide},
      {"Elu", infer_same},
      {"Equal", infer_equal},
      {"Erf", infer_same},
      {"Exp", infer_same},
      {"EyeLike", infer_like},
      {"Floor", infer_same_elements},
      {"Gelu", infer_same},
      {"Greater", infer_comparison},
      {"GreaterOrEqual", infer_comparison},
      {"HardSigmoid", infer_same},
      {"HardSwish", infer_same},
      {"Identity", infer_same_elements},
      {"IsInf", infer_same_bool},
      {"IsNaN", infer_same_bool},
      {"LeakyRelu", infer_same},
      {"Less", infer_comparison},
      {"LessOrEqual", infer_comparison},
      {"Log", infer_same},
      {"Max", infer_maximum},
      {"Mean", infer_broadcast},
      {"Min", infer_minimum},
      {"Mish", infer_same},
      {"Mod", infer_modulo},
      {"Mul", infer_multiply},
      {"Neg", infer_negate},
      {"Not", infer_same_bool},
      {"Or", infer_comparison},
      {"PRelu", infer_same},
      {"Pow", infer_power},
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
      {"Sub", infer_subtract},
      {"Sum", infer_broadcast},
      {"Tan", infer_same},
      {"Tanh", infer_same},
      {"ThresholdedRelu", infer_same},
      {"Where", infer_where},
      {"Xor", infer_comparison},
  };
  return operators;
}

}  // namespace opsmith::graph
