#include <cmath>

#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/dispatch.h"
#include "runtime/kernels/program_builder.h"

namespace opsmith::kernels {
namespace {

using expression::Scalar;
using expression::Unary;

/// A function of one number: as an expression where there is one, and on doubles.
struct UnaryOperator {
  std::string type;
  std::function<Scalar(const Scalar&)> expression;
  double (*plain)(double);
};

std::optional<Lowered> lower_unary(const graph::Node& node, const LoweringContext& context,
                                   const UnaryOperator& kind) {
  ProgramBuilder builder(node, context);
  if (!kind.expression || !builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  Scalar body = kind.expression(builder.read(0, all_axes(x.size())));
  return builder.finish({builder.add_stage(map_stage("y", x, body))});
}

std::vector<Tensor> plain_unary(const PlainCall& call, const UnaryOperator& kind) {
  const Tensor& x = call.input(0);
  Tensor y = call.output(0, x.type(), x.shape());
  dispatch_numeric(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    const T* in = elements_as<T>(x);
    T* out = elements_as<T>(y);
    for (int64_t i = 0; i < x.count(); ++i) {
      out[i] = static_cast<T>(kind.plain(static_cast<double>(in[i])));
    }
  });
  return {y};
}

// Integers stay exact, unlike through a double.
template <typename Function>
PlainKernel exact(const Function& function, const UnaryOperator& kind) {
  return [function, kind](const PlainCall& call) -> std::vector<Tensor> {
    const Tensor& x = call.input(0);
    if (x.type() != ElementType::Int64 && x.type() != ElementType::UInt64) {
      return plain_unary(call, kind);
    }
    Tensor y = call.output(0, x.type(), x.shape());
    const int64_t* in = elements_as<int64_t>(x);
    int64_t* out = elements_as<int64_t>(y);
    for (int64_t i = 0; i < x.count(); ++i) out[i] = function(in[i]);
    return {y};
  };
}

// A test of each element: floats to Bool.
std::vector<Tensor> plain_test(const PlainCall& call, bool (*test)(double, const graph::Node&)) {
  const Tensor& given = call.input(0);
  const Tensor x = is_float8(given.type()) ? given.cast(ElementType::Float32) : given;
  Tensor y = call.output(0, ElementType::Bool, x.shape());
  auto* out = elements_as<uint8_t>(y);
  dispatch_numeric(x.type(), call.node, [&](auto tag) {
    auto* in = elements_as<decltype(tag)>(x);
    for (int64_t i = 0; i < x.count(); ++i) {
      out[i] = test(static_cast<double>(in[i]), call.node) ? 1 : 0;
    }
  });
  return {y};
}

std::vector<Tensor> bitwise_not(const PlainCall& call) {
  const Tensor& x = call.input(0);
  Tensor y = call.output(0, x.type(), x.shape());
  dispatch_size(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < x.count(); ++i) {
      elements_as<T>(y)[i] = static_cast<T>(~elements_as<T>(x)[i]);
    }
  });
  return {y};
}

std::function<Scalar(const Scalar&)> function(Unary unary) {
  return [unary](const Scalar& x) { return Scalar::unary(unary, x); };
}

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

double round_half_even(double x) {
  double nearest = std::round(x);
  if (std::fabs(x - std::trunc(x)) == 0.5) nearest = 2 * std::round(x / 2);
  return nearest;
}

}  // namespace

std::vector<KernelDefinition> unary_kernels() {
  auto tangent = [](const Scalar& x) {
    return Scalar::unary(Unary::Sin, x) / Scalar::unary(Unary::Cos, x);
  };
  using Math = double (*)(double);
  std::vector<UnaryOperator> kinds = {
      {"Abs", function(Unary::Absolute), static_cast<Math>(std::fabs)},
      {"Neg", function(Unary::Negate), [](double x) { return -x; }},
      {"Sign", function(Unary::Sign), sign},
      {"Exp", function(Unary::Exp), static_cast<Math>(std::exp)},
      {"Log", function(Unary::Log), static_cast<Math>(std::log)},
      {"Sqrt", function(Unary::Sqrt), static_cast<Math>(std::sqrt)},
      {"Reciprocal", function(Unary::Reciprocal), [](double x) { return 1 / x; }},
      {"Floor", function(Unary::Floor), static_cast<Math>(std::floor)},
      {"Ceil", function(Unary::Ceil), static_cast<Math>(std::ceil)},
      {"Round", function(Unary::Round), round_half_even},
      {"Sin", function(Unary::Sin), static_cast<Math>(std::sin)},
      {"Cos", function(Unary::Cos), static_cast<Math>(std::cos)},
      {"Tan", tangent, static_cast<Math>(std::tan)},
      {"Tanh", function(Unary::Tanh), static_cast<Math>(std::tanh)},
      {"Erf", function(Unary::Erf), static_cast<Math>(std::erf)},
      {"Asin", nullptr, static_cast<Math>(std::asin)},
      {"Acos", nullptr, static_cast<Math>(std::acos)},
      {"Atan", nullptr, static_cast<Math>(std::atan)},
      {"Sinh", nullptr, static_cast<Math>(std::sinh)},
      {"Cosh", nullptr, static_cast<Math>(std::cosh)},
      {"Asinh", nullptr, static_cast<Math>(std::asinh)},
      {"Acosh", nullptr, static_cast<Math>(std::acosh)},
      {"Atanh", nullptr, static_cast<Math>(std::atanh)},
  };
  std::vector<KernelDefinition> definitions;
  for (const UnaryOperator& kind : kinds) {
    PlainKernel plain = [kind](const PlainCall& call) { return plain_unary(call, kind); };
    if (kind.type == "Abs") plain = exact([](int64_t x) { return x < 0 ? -x : x; }, kind);
    if (kind.type == "Neg") plain = exact([](int64_t x) { return -x; }, kind);
    definitions.push_back({kind.type,
                           [kind](const graph::Node& node, const LoweringContext& context) {
                             return lower_unary(node, context, kind);
                           },
                           plain});
  }
  definitions.push_back({"Not", nullptr, [](const PlainCall& call) {
                           return plain_test(call,
                                             [](double x, const graph::Node&) { return x == 0; });
                         }});
  definitions.push_back({"BitwiseNot", nullptr, bitwise_not});
  definitions.push_back({"IsNaN", nullptr,
                         [](const PlainCall& call) {
                           return plain_test(
                               call, [](double x, const graph::Node&) { return std::isnan(x); });
                         },
                         Handling::Widened});
  definitions.push_back({"IsInf", nullptr,
                         [](const PlainCall& call) {
                           return plain_test(call, [](double x, const graph::Node& node) {
                             return std::isinf(x) &&
                                    node.integer(x > 0 ? "detect_positive" : "detect_negative", 1);
                           });
                         },
                         Handling::Widened});
  return definitions;
}

}  // namespace opsmith::kernels
