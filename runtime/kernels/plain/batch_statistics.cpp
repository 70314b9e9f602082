#include "runtime/kernels/plain/batch_statistics.h"

#include <cmath>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/plain/reals.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

struct Moments {
  std::vector<double> mean, variance;
};

/// Of each of `groups` columns of a tensor [batch, groups, inner].
Moments moments_of(const std::vector<double>& x, int64_t batch, int64_t groups, int64_t inner) {
  Moments moments;
  const auto count = static_cast<double>(batch * inner);
  for (int64_t g = 0; g < groups; ++g) {
    double sum = 0, squares = 0;
    const auto each = [&](auto visit) {
      for (int64_t n = 0; n < batch; ++n) {
        for (int64_t i = 0; i < inner; ++i) {
          visit(x[static_cast<size_t>((n * groups + g) * inner + i)]);
        }
      }
    };
    each([&](double v) { sum += v; });
    const double mean = sum / count;
    each([&](double v) { squares += (v - mean) * (v - mean); });
    moments.mean.push_back(mean);
    moments.variance.push_back(squares / count);
  }
  return moments;
}

}  // namespace

bool trains_batch_normalization(const graph::Node& node, int64_t opset) {
  if (opset < 7) return node.integer("is_test", 0) == 0;
  if (opset < 14) return node.outputs.size() > 1;
  return node.integer("training_mode", 0) != 0;
}

std::vector<Tensor> plain_batch_normalization(const PlainCall& call) {
  const Tensor& x = call.input(0);
  if (x.rank() < 1) throw UserError(describe(call.node) + ": a scalar has no channels");
  // Before operator set 9 each position could have moments of its own.
  const bool spatial = call.opset() >= 9 || call.node.integer("spatial", 1) != 0;
  const int64_t batch = x.shape()[0];
  const int64_t inner =
      spatial && x.rank() > 1 ? extent_product(x.shape(), 2, x.shape().size()) : 1;
  const int64_t groups = x.rank() == 1 ? 1
                         : spatial     ? x.shape()[1]
                                       : extent_product(x.shape(), 1, x.shape().size());
  std::vector<double> parameters[4];
  for (size_t i = 0; i < 4; ++i) {
    parameters[i] = to_reals(call.input(1 + i));
    if (static_cast<int64_t>(parameters[i].size()) != groups) {
      throw UserError(describe(call.node) + ": input " + std::to_string(1 + i) + " of shape " +
                      to_string(call.input(1 + i).shape()) + " does not fit " +
                      to_string(x.shape()));
    }
  }
  std::vector<double> values = to_reals(x);
  const bool training = trains_batch_normalization(call.node, call.opset());
  Moments moments{parameters[2], parameters[3]};
  if (training) moments = moments_of(values, batch, groups, inner);
  const double epsilon = call.node.real("epsilon", 1e-5F);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto g = static_cast<size_t>(static_cast<int64_t>(i) / inner % groups);
    values[i] = (values[i] - moments.mean[g]) / std::sqrt(moments.variance[g] + epsilon) *
                    parameters[0][g] +
                parameters[1][g];
  }
  std::vector<Tensor> outputs = {from_reals(call, 0, x.type(), x.shape(), values)};
  const double momentum = call.node.real("momentum", 0.9F);
  // Running mean and variance; before operator set 14 the batch's own follow.
  for (size_t i = 1; i < call.node.outputs.size(); ++i) {
    const bool variance = i % 2 == 0;
    std::vector<double> moment = variance ? moments.variance : moments.mean;
    if (i < 3 && training) {
      for (size_t g = 0; g < moment.size(); ++g) {
        moment[g] = parameters[variance ? 3 : 2][g] * momentum + moment[g] * (1 - momentum);
      }
    }
    const Tensor& like = call.input(variance ? 4 : 3);
    outputs.push_back(from_reals(call, i, like.type(), like.shape(), moment));
  }
  return outputs;
}

}  // namespace opsmith::kernels
