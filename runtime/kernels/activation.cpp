#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/dispatch.h"
#include "runtime/kernels/plain/reals.h"
#include "runtime/kernels/program_builder.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

using expression::Scalar;
using expression::Unary;

Scalar number(double value) { return Scalar::constant(value); }
Scalar exponential(const Scalar& x) { return Scalar::unary(Unary::Exp, x); }
Scalar positive(const Scalar& x, const Scalar& then, const Scalar& otherwise) {
  return Scalar::select(Scalar::binary(expression::Binary::Less, number(0), x), then, otherwise);
}
Scalar sigmoid(const Scalar& x) {
  return Scalar::unary(Unary::Reciprocal, number(1) + exponential(Scalar::unary(Unary::Negate, x)));
}
Scalar clamp(const Scalar& x, double low, double high) {
  return minimum(maximum(x, number(low)), number(high));
}
// log(1 + e^x) without overflow.
Scalar softplus(const Scalar& x) {
  Scalar decay = exponential(Scalar::unary(Unary::Negate, Scalar::unary(Unary::Absolute, x)));
  return maximum(x, number(0)) + Scalar::unary(Unary::Log, number(1) + decay);
}
// x * (1 + erf(x / sqrt 2)) / 2, or its tanh approximation.
Scalar gelu(const Scalar& x, bool approximate) {
  Scalar half = x * number(0.5);
  if (!approximate) return half * (number(1) + Scalar::unary(Unary::Erf, x * number(M_SQRT1_2)));
  Scalar cubic = x + number(0.044715) * x * x * x;
  return half * (number(1) + Scalar::unary(Unary::Tanh, number(std::sqrt(2 / M_PI)) * cubic));
}

using Activation = std::function<Scalar(const Scalar& x, const graph::Node&)>;

std::optional<Lowered> lower_activation(const graph::Node& node, const LoweringContext& context,
                                        const Activation& activation) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  Scalar body = activation(builder.read(0, all_axes(x.size())), node);
  return builder.finish({builder.add_stage(map_stage("y", x, body))});
}

// x above zero, x * slope below; the slope broadcasts to x.
std::optional<Lowered> lower_prelu(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_numbers()) return std::nullopt;
  const Shape& shape = builder.shape(0);
  Shape slope = builder.shape(1);
  if (slope.size() > shape.size()) {
    throw UserError(describe(node) + ": the slope has more dimensions than the input");
  }
  // One slope per channel before operator set 7.
  const bool per_channel =
      slope.size() == 1 && slope[0] != 1 && shape.size() > 2 && slope[0] == shape[1];
  if (builder.opset() < 7 && per_channel) slope.insert(slope.end(), shape.size() - 2, 1);
  broadcast_shapes(shape, slope, node);
  Scalar x = builder.read(0, all_axes(shape.size()));
  Scalar body = positive(x, x, x * builder.read_broadcast(1, slope, shape));
  return builder.finish({builder.add_stage(map_stage("y", shape, body))});
}

// Bounds are attributes before opset 11 and optional inputs since.
std::optional<Lowered> lower_clip(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  Scalar body = builder.read(0, all_axes(x.size()));
  auto bound = [&](size_t input, const char* attribute) -> std::optional<Scalar> {
    if (builder.has(input)) return builder.read_broadcast(input, x);
    if (!node.attributes.contains(attribute)) return std::nullopt;
    return number(node.real(attribute, 0));
  };
  if (auto low = bound(1, "min")) body = maximum(body, *low);
  if (auto high = bound(2, "max")) body = minimum(body, *high);
  return builder.finish({builder.add_stage(map_stage("y", x, body))});
}

// Integers and doubles.
std::vector<Tensor> plain_clip(const PlainCall& call) {
  const Tensor& x = call.input(0);
  Tensor y = call.output(0, x.type(), x.shape());
  dispatch_numeric(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    T low = call.has(1) ? *elements_as<T>(call.input(1)) : std::numeric_limits<T>::lowest();
    T high = call.has(2) ? *elements_as<T>(call.input(2)) : std::numeric_limits<T>::max();
    const T* in = elements_as<T>(x);
    T* out = elements_as<T>(y);
    for (int64_t i = 0; i < x.count(); ++i) out[i] = std::min(std::max(in[i], low), high);
  });
  return {y};
}

// Of integers; the bounds are real numbers.
std::vector<Tensor> plain_shrink(const PlainCall& call) {
  const double lambda = call.node.real("lambd", 0.5F), bias = call.node.real("bias", 0.0F);
  std::vector<double> values = to_reals(call.input(0));
  for (double& v : values) v = v < -lambda ? v + bias : v > lambda ? v - bias : 0;
  return {from_reals(call, 0, call.input(0).type(), call.input(0).shape(), values)};
}

std::vector<Tensor> plain_relu(const PlainCall& call) {
  const Tensor& x = call.input(0);
  Tensor y = call.output(0, x.type(), x.shape());
  dispatch_numeric(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    const T* in = elements_as<T>(x);
    T* out = elements_as<T>(y);
    for (int64_t i = 0; i < x.count(); ++i) out[i] = std::max(in[i], T{0});
  });
  return {y};
}

}  // namespace

std::vector<KernelDefinition> activation_kernels() {
  using graph::Node;
  std::vector<std::pair<std::string, Activation>> activations = {
      {"Sigmoid", [](const Scalar& x, const Node&) { return sigmoid(x); }},
      {"Softplus", [](const Scalar& x, const Node&) { return softplus(x); }},
      {"Mish",
       [](const Scalar& x, const Node&) { return x * Scalar::unary(Unary::Tanh, softplus(x)); }},
      {"Softsign", [](const Scalar& x,
                      const Node&) { return x / (number(1) + Scalar::unary(Unary::Absolute, x)); }},
      {"LeakyRelu",
       [](const Scalar& x, const Node& node) {
         return positive(x, x, x * number(node.real("alpha", 0.01F)));
       }},
      {"ThresholdedRelu",
       [](const Scalar& x, const Node& node) {
         return Scalar::select(
             Scalar::binary(expression::Binary::Less, number(node.real("alpha", 1.0F)), x), x,
             number(0));
       }},
      {"Elu",
       [](const Scalar& x, const Node& node) {
         return positive(x, x, number(node.real("alpha", 1.0F)) * (exponential(x) - number(1)));
       }},
      {"Celu",
       [](const Scalar& x, const Node& node) {
         double alpha = node.real("alpha", 1.0F);
         return maximum(x, number(0)) +
                minimum(number(0),
                        number(alpha) * (exponential(x * number(1 / alpha)) - number(1)));
       }},
      {"Selu",
       [](const Scalar& x, const Node& node) {
         double alpha = node.real("alpha", 1.67326319217681884765625F);
         double gamma = node.real("gamma", 1.05070102214813232421875F);
         return number(gamma) * positive(x, x, number(alpha) * (exponential(x) - number(1)));
       }},
      {"HardSigmoid",
       [](const Scalar& x, const Node& node) {
         return clamp(x * number(node.real("alpha", 0.2F)) + number(node.real("beta", 0.5F)), 0, 1);
       }},
      {"HardSwish", [](const Scalar& x,
                       const Node&) { return x * clamp(x * number(1.0 / 6) + number(0.5), 0, 1); }},
      {"Gelu",
       [](const Scalar& x, const Node& node) {
         return gelu(x, node.text("approximate", "none") == "tanh");
       }},
      {"Shrink",
       [](const Scalar& x, const Node& node) {
         double lambda = node.real("lambd", 0.5F), bias = node.real("bias", 0.0F);
         auto less = [](const Scalar& a, const Scalar& b) {
           return Scalar::binary(expression::Binary::Less, a, b);
         };
         return Scalar::select(
             less(x, number(-lambda)), x + number(bias),
             Scalar::select(less(number(lambda), x), x - number(bias), number(0)));
       }},
  };
  std::vector<KernelDefinition> definitions = {
      {"PRelu", lower_prelu, nullptr},
      {"Clip", lower_clip, plain_clip},
      {"Relu",
       [](const graph::Node& node, const LoweringContext& context) {
         return lower_activation(node, context, [](const Scalar& x, const graph::Node&) {
           return maximum(x, number(0));
         });
       },
       plain_relu}};
  for (auto& [type, activation] : activations) {
    definitions.push_back(
        {type,
         [activation = activation](const graph::Node& node, const LoweringContext& context) {
           return lower_activation(node, context, activation);
         },
         type == "Shrink" ? PlainKernel(plain_shrink) : nullptr});
  }
  return definitions;
}

}  // namespace opsmith::kernels
