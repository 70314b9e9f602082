#include <algorithm>

#include "graph/operators/families.h"
#include "support/error.h"

namespace opsmith::graph {
namespace {

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

}  // namespace

std::span<const OperatorDefinition> arithmetic_operators() {
  static const OperatorDefinition operators[] = {
      {"Add", infer_add},
      {"And", infer_comparison},
      {"BitShift", infer_broadcast},
      {"BitwiseAnd", infer_broadcast},
      {"BitwiseOr", infer_broadcast},
      {"BitwiseXor", infer_broadcast},
      {"Div", infer_divide},
      {"Equal", infer_equal},
      {"Greater", infer_comparison},
      {"GreaterOrEqual", infer_comparison},
      {"Less", infer_comparison},
      {"LessOrEqual", infer_comparison},
      {"Max", infer_maximum},
      {"Mean", infer_broadcast},
      {"Min", infer_minimum},
      {"Mod", infer_modulo},
      {"Mul", infer_multiply},
      {"Or", infer_comparison},
      {"Pow", infer_power},
      {"Sub", infer_subtract},
      {"Sum", infer_broadcast},
      {"Where", infer_where},
      {"Xor", infer_comparison},
  };
  return operators;
}

}  // namespace opsmith::graph
