#include <cmath>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/broadcast.h"
#include "runtime/kernels/plain/dispatch.h"
#include "runtime/kernels/program_builder.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

using expression::Binary;
using expression::Scalar;

std::optional<Lowered> lower_variadic(const graph::Node& node, const LoweringContext& context,
                                      Binary function, bool average) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  Shape output = builder.shape(0);
  std::vector<Shape> aligned = {output};
  for (size_t i = 1; i < builder.input_count(); ++i) {
    aligned.push_back(aligned_shape(builder.shape(0), builder.shape(i), node, builder.opset()));
    output = broadcast_shapes(output, aligned[i], node);
  }
  Scalar body = builder.read_broadcast(0, output);
  for (size_t i = 1; i < builder.input_count(); ++i) {
    body = Scalar::binary(function, body, builder.read_broadcast(i, aligned[i], output));
  }
  if (average) body = body * Scalar::constant(1 / static_cast<double>(builder.input_count()));
  return builder.finish({builder.add_stage(map_stage("y", output, body))});
}

template <typename In, typename Out, typename Function>
Tensor combine(const PlainCall& call, const Tensor& a, const Tensor& b, ElementType type,
               const Function& function) {
  const Shape b_shape = aligned_shape(a.shape(), b.shape(), call.node, call.opset());
  Shape shape = broadcast_shapes(a.shape(), b_shape, call.node);
  Tensor result = call.output(0, type, shape);
  const In* left = elements_as<In>(a);
  const In* right = elements_as<In>(b);
  Out* out = elements_as<Out>(result);
  BroadcastCursor left_at(a.shape(), shape), right_at(b_shape, shape);
  for (int64_t i = 0; i < result.count(); ++i) {
    out[i] = static_cast<Out>(function(left[left_at.offset()], right[right_at.offset()]));
    left_at.advance();
    right_at.advance();
  }
  return result;
}

void check_same_type(const PlainCall& call, const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) {
    throw UserError(describe(call.node) + ": element types " + to_string(a.type()) + " and " +
                    to_string(b.type()) + " differ");
  }
}

struct Arithmetic {
  template <typename T>
  static T power(T base, double exponent) {
    return static_cast<T>(std::pow(static_cast<double>(base), exponent));
  }

  // C++'s wrap-around through the unsigned type; signed overflow would be undefined.
  template <typename T>
  static T apply(const graph::Node& node, T a, T b) {
    const std::string& type = node.type;
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      auto wrap = [](auto value) { return static_cast<T>(value); };
      uint64_t x = static_cast<Unsigned>(a), y = static_cast<Unsigned>(b);
      if (type == "Add" || type == "Sum") return wrap(x + y);
      if (type == "Sub") return wrap(x - y);
      if (type == "Mul") return wrap(x * y);
      if (type == "Div" || type == "Mod") {
        if (b == 0) throw UserError(describe(node) + ": integer division by zero");
        if constexpr (std::is_signed_v<T>) {
          if (b == -1) return type == "Div" ? wrap(uint64_t{0} - x) : T{0};
        }
        if (type == "Div") return static_cast<T>(a / b);
        T rest = static_cast<T>(a % b);
        bool follow_dividend = node.integer("fmod", 0) != 0;
        if (!follow_dividend && rest != 0 && (rest < 0) != (b < 0)) rest = static_cast<T>(rest + b);
        return rest;
      }
      if (type == "BitwiseAnd") return wrap(x & y);
      if (type == "BitwiseOr") return wrap(x | y);
      if (type == "BitwiseXor") return wrap(x ^ y);
      if (type == "BitShift") {
        if (y >= 8 * sizeof(T)) return 0;
        return node.text("direction", "") == "LEFT" ? wrap(x << y) : wrap(x >> y);
      }
    } else {
      if (type == "Add" || type == "Sum") return a + b;
      if (type == "Sub") return a - b;
      if (type == "Mul") return a * b;
      if (type == "Div") return a / b;
      if (type == "Mod") {
        T rest = std::fmod(a, b);
        if (node.integer("fmod", 0) == 0 && rest != 0 && (rest < 0) != (b < 0)) rest += b;
        return rest;
      }
    }
    if (type == "Min") return b < a || b != b ? b : a;
    if (type == "Max") return a < b || b != b ? b : a;
    throw Unsupported(describe(node) + ": not for this element type");
  }
};

std::vector<Tensor> plain_arithmetic(const PlainCall& call) {
  Tensor result = call.input(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    check_same_type(call, result, call.input(i));
    dispatch_numeric(result.type(), call.node, [&](auto tag) {
      using T = decltype(tag);
      result = combine<T, T>(call, result, call.input(i), result.type(),
                             [&](T a, T b) { return Arithmetic::apply<T>(call.node, a, b); });
    });
  }
  if (call.inputs.size() == 1) result = result.clone();
  return {result};
}

// The exponent may be of another type than the base.
std::vector<Tensor> plain_power(const PlainCall& call) {
  const Tensor& base = call.input(0);
  Tensor exponent = call.input(1).cast(ElementType::Float64);
  const Shape exponent_shape =
      aligned_shape(base.shape(), exponent.shape(), call.node, call.opset());
  Shape shape = broadcast_shapes(base.shape(), exponent_shape, call.node);
  Tensor result = call.output(0, base.type(), shape);
  dispatch_numeric(base.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    const T* in = elements_as<T>(base);
    const double* powers = elements_as<double>(exponent);
    T* out = elements_as<T>(result);
    BroadcastCursor base_at(base.shape(), shape), exponent_at(exponent_shape, shape);
    for (int64_t i = 0; i < result.count(); ++i) {
      out[i] = Arithmetic::power<T>(in[base_at.offset()], powers[exponent_at.offset()]);
      base_at.advance();
      exponent_at.advance();
    }
  });
  return {result};
}

template <typename T>
bool compare(const std::string& type, T a, T b) {
  if (type == "Equal") return a == b;
  if (type == "Less") return a < b;
  if (type == "LessOrEqual") return a <= b;
  if (type == "Greater") return a > b;
  return a >= b;  // GreaterOrEqual
}

std::vector<Tensor> plain_comparison(const PlainCall& call) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  check_same_type(call, a, b);
  Tensor result;
  if (a.type() == ElementType::String) {
    return {combine<std::string, uint8_t>(
        call, a, b, ElementType::Bool,
        [](const std::string& x, const std::string& y) { return x == y ? 1 : 0; })};
  }
  dispatch_numeric(a.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    result = combine<T, uint8_t>(call, a, b, ElementType::Bool, [&](T x, T y) {
      return compare<T>(call.node.type, x, y) ? 1 : 0;
    });
  });
  return {result};
}

std::vector<Tensor> plain_logic(const PlainCall& call) {
  const std::string& type = call.node.type;
  return {combine<uint8_t, uint8_t>(call, call.input(0), call.input(1), ElementType::Bool,
                                    [&](uint8_t a, uint8_t b) {
                                      if (type == "And") return (a != 0) && (b != 0);
                                      if (type == "Or") return (a != 0) || (b != 0);
                                      return (a != 0) != (b != 0);
                                    })};
}

}  // namespace

std::vector<KernelDefinition> binary_kernels() {
  auto lowering = [](Binary function, bool average = false) {
    return [function, average](const graph::Node& node, const LoweringContext& context) {
      return lower_variadic(node, context, function, average);
    };
  };
  std::vector<KernelDefinition> definitions = {
      {"Add", lowering(Binary::Add), plain_arithmetic},
      {"Sub", lowering(Binary::Subtract), plain_arithmetic},
      {"Mul", lowering(Binary::Multiply), plain_arithmetic},
      {"Div", lowering(Binary::Divide), plain_arithmetic},
      {"Min", lowering(Binary::Minimum), plain_arithmetic},
      {"Max", lowering(Binary::Maximum), plain_arithmetic},
      {"Sum", lowering(Binary::Add), plain_arithmetic},
      {"Mean", lowering(Binary::Add, true), nullptr},
      {"Pow", lowering(Binary::Power), plain_power},
      {"Mod", nullptr, plain_arithmetic, Handling::Widened},
      {"BitShift", nullptr, plain_arithmetic},
      {"BitwiseAnd", nullptr, plain_arithmetic},
      {"BitwiseOr", nullptr, plain_arithmetic},
      {"BitwiseXor", nullptr, plain_arithmetic},
  };
  for (const char* type : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    definitions.push_back({type, nullptr, plain_comparison, Handling::Widened});
  }
  for (const char* type : {"And", "Or", "Xor"}) {
    definitions.push_back({type, nullptr, plain_logic});
  }
  return definitions;
}

}  // namespace opsmith::kernels
