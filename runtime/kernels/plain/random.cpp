#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/onnx_types.h"
#include "runtime/kernels/plain/draw.h"
#include "runtime/kernels/plain/reals.h"
#include "support/error.h"

// Operators that draw random numbers. With the attribute `seed` every run draws the same ones;
// without it each call of a process draws others.
namespace opsmith::kernels {
namespace {

ElementType wanted_type(const PlainCall& call, ElementType fallback) {
  const int64_t number = call.node.integer("dtype", 0);
  return number == 0 ? fallback : onnx_element_type(number, call.node);
}

Shape shape_attribute(const PlainCall& call) { return call.node.integers("shape"); }

std::vector<Tensor> draw_all(const PlainCall& call, ElementType type, const Shape& shape,
                             const std::function<double(Random&)>& next) {
  Random random = random_of(call.node);
  std::vector<double> values(static_cast<size_t>(element_count(shape)));
  for (double& value : values) value = next(random);
  return {from_reals(call, 0, type, shape, values)};
}

std::vector<Tensor> uniform(const PlainCall& call, ElementType type, const Shape& shape) {
  const double low = call.node.real("low", 0), high = call.node.real("high", 1);
  return draw_all(call, type, shape, [&](Random& d) { return low + (high - low) * d.uniform(); });
}

std::vector<Tensor> normal(const PlainCall& call, ElementType type, const Shape& shape) {
  const double mean = call.node.real("mean", 0), scale = call.node.real("scale", 1);
  return draw_all(call, type, shape, [&](Random& d) { return mean + scale * d.normal(); });
}

// 1 with the probability that each element of x is.
std::vector<Tensor> bernoulli(const PlainCall& call) {
  const std::vector<double> chances = to_reals(call.input(0));
  size_t i = 0;
  return draw_all(call, wanted_type(call, call.input(0).type()), call.input(0).shape(),
                  [&](Random& d) { return d.uniform() < chances[i++] ? 1.0 : 0.0; });
}

// Rows of unnormalised log-probabilities; draws class numbers.
std::vector<Tensor> multinomial(const PlainCall& call) {
  const Tensor& x = call.input(0);
  if (x.rank() != 2) throw UserError(describe(call.node) + ": needs the shape [batch, classes]");
  const std::vector<double> logits = to_reals(x);
  const auto classes = static_cast<size_t>(x.shape()[1]);
  const int64_t samples = call.node.integer("sample_size", 1);
  if (classes == 0) throw UserError(describe(call.node) + ": there are no classes");
  std::vector<double> sums(classes);
  int64_t drawn = 0;
  return draw_all(
      call, wanted_type(call, ElementType::Int32), {x.shape()[0], samples}, [&](Random& d) {
        const double* row = logits.data() + drawn / samples * x.shape()[1];
        if (drawn++ % samples == 0) {
          const double largest = *std::max_element(row, row + classes);
          double sum = 0;
          for (size_t c = 0; c < classes; ++c) sums[c] = sum += std::exp(row[c] - largest);
        }
        const auto found = std::upper_bound(sums.begin(), sums.end(), d.uniform() * sums.back());
        return static_cast<double>(std::min<int64_t>(found - sums.begin(), x.shape()[1] - 1));
      });
}

}  // namespace

Random random_of(const graph::Node& node) {
  static std::atomic<uint64_t> calls{0};
  const auto found = node.attributes.find("seed");
  if (found == node.attributes.end()) return Random(calls.fetch_add(1) + 1);
  // A float, but an integer of Dropout.
  if (const auto* whole = std::get_if<int64_t>(&found->second)) {
    return Random(static_cast<uint64_t>(*whole));
  }
  return Random(std::bit_cast<uint32_t>(node.real("seed", 0)));
}

std::vector<KernelDefinition> random_kernels() {
  return {{"RandomUniform", nullptr,
           [](const PlainCall& call) {
             return uniform(call, wanted_type(call, ElementType::Float32), shape_attribute(call));
           }},
          {"RandomNormal", nullptr,
           [](const PlainCall& call) {
             return normal(call, wanted_type(call, ElementType::Float32), shape_attribute(call));
           }},
          {"RandomUniformLike", nullptr,
           [](const PlainCall& call) {
             const Tensor& x = call.input(0);
             return uniform(call, wanted_type(call, x.type()), x.shape());
           }},
          {"RandomNormalLike", nullptr,
           [](const PlainCall& call) {
             const Tensor& x = call.input(0);
             return normal(call, wanted_type(call, x.type()), x.shape());
           }},
          {"Bernoulli", nullptr, bernoulli},
          {"Multinomial", nullptr, multinomial}};
}

}  // namespace opsmith::kernels
