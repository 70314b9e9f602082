#include <algorithm>
#include <cmath>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/reals.h"
#include "support/error.h"

// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss of log-probabilities or scores
// [N, C, d1, ...] and class numbers [N, d1, ...].
namespace opsmith::kernels {
namespace {

/// Positions of the classes: [batch, classes, inner].
struct Layout {
  int64_t batch, classes, inner;
};

Layout layout_of(const PlainCall& call) {
  const Shape& x = call.input(0).shape();
  Shape expected = x;
  if (x.size() >= 2) expected.erase(expected.begin() + 1);
  if (x.size() < 2 || call.input(1).shape() != expected) {
    throw UserError(describe(call.node) + ": classes of shape " + to_string(call.input(1).shape()) +
                    " do not fit scores of shape " + to_string(x));
  }
  return {x[0], x[1], extent_product(x, 2, x.size())};
}

std::vector<double> log_softmax(std::vector<double> x, const Layout& at) {
  for (int64_t i = 0; i < at.batch * at.inner; ++i) {
    double* column = x.data() + i / at.inner * at.classes * at.inner + i % at.inner;
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t c = 0; c < at.classes; ++c) largest = std::max(largest, column[c * at.inner]);
    for (int64_t c = 0; c < at.classes; ++c) sum += std::exp(column[c * at.inner] - largest);
    for (int64_t c = 0; c < at.classes; ++c) column[c * at.inner] -= largest + std::log(sum);
  }
  return x;
}

Tensor loss_of(const PlainCall& call, const std::vector<double>& x, const Layout& at) {
  const graph::Node& node = call.node;
  const ElementType type = call.input(0).type();
  const std::vector<int64_t> classes = call.integers(1);
  const std::vector<double> weights = call.has(2) ? to_reals(call.input(2)) : std::vector<double>{};
  const bool ignores = node.has("ignore_index");
  const int64_t ignored = node.integer("ignore_index", -1);
  std::vector<double> losses;
  double sum = 0, total_weight = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    double weight = 0, loss = 0;
    if (!(ignores && classes[i] == ignored)) {
      const int64_t c = checked_index(classes[i], at.classes, node);
      const auto flat = static_cast<int64_t>(i);
      weight = weights.empty() ? 1 : weights.at(static_cast<size_t>(c));
      loss =
          -weight *
          x[static_cast<size_t>((flat / at.inner * at.classes + c) * at.inner + flat % at.inner)];
    }
    losses.push_back(loss);
    sum += loss;
    total_weight += weight;
  }
  const std::string reduction = node.text("reduction", "mean");
  if (reduction == "none") return from_reals(call, 0, type, call.input(1).shape(), losses);
  return from_reals(call, 0, type, {}, {reduction == "sum" ? sum : sum / total_weight});
}

std::vector<Tensor> negative_log_likelihood(const PlainCall& call) {
  return {loss_of(call, to_reals(call.input(0)), layout_of(call))};
}

// The second output, where asked for, holds the log-probabilities.
std::vector<Tensor> cross_entropy(const PlainCall& call) {
  const Layout at = layout_of(call);
  const std::vector<double> logs = log_softmax(to_reals(call.input(0)), at);
  std::vector<Tensor> outputs = {loss_of(call, logs, at)};
  if (call.node.output(1) != graph::kNoValue) {
    outputs.push_back(from_reals(call, 1, call.input(0).type(), call.input(0).shape(), logs));
  }
  return outputs;
}

}  // namespace

std::vector<KernelDefinition> loss_kernels() {
  return {{"NegativeLogLikelihoodLoss", nullptr, negative_log_likelihood},
          {"SoftmaxCrossEntropyLoss", nullptr, cross_entropy}};
}

}  // namespace opsmith::kernels
