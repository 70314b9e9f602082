#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/batch_statistics.h"
#include "runtime/kernels/program_builder.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

using expression::Index;
using expression::Reduction;
using expression::Scalar;
using expression::Unary;

Scalar inverse_root(const Scalar& variance, double epsilon) {
  return Scalar::unary(Unary::Reciprocal,
                       Scalar::unary(Unary::Sqrt, variance + Scalar::constant(epsilon)));
}

// Inference form: y = (x - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + shift[c].
std::optional<Lowered> lower_batch_normalization(const graph::Node& node,
                                                 const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  const bool per_position = builder.opset() < 9 && node.integer("spatial", 1) == 0;
  if (trains_batch_normalization(node, builder.opset()) || per_position || x.size() < 2) {
    return std::nullopt;
  }
  Scalar factor = builder.read_along(1, 1) *
                  inverse_root(builder.read_along(4, 1), node.real("epsilon", 1e-5F));
  Scalar body = (builder.read(0, all_axes(x.size())) - builder.read_along(3, 1)) * factor +
                builder.read_along(2, 1);
  return builder.finish({builder.add_stage(map_stage("y", x, body))});
}

/// Mean and inverse standard deviation over the trailing or listed axes as two stages over the
/// remaining axes.
struct Moments {
  Scalar mean, inverse;  ///< reads for use in a stage over all axes of the input
  std::string mean_stage, inverse_stage;
};

/// `kept` marks the axes that the moments range over one by one; reduced axes have extent 1 in
/// the moments' shape.
Moments add_moments(ProgramBuilder& builder, const std::vector<bool>& kept, double epsilon) {
  const Shape& x = builder.shape(0);
  Shape output, reduction;
  std::vector<Index> data, at;
  double count = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    output.push_back(kept[i] ? x[i] : 1);
    at.push_back(kept[i] ? axis(i) : Index(0));
    if (kept[i]) {
      data.push_back(axis(i));
    } else {
      data.push_back(reduction_axis(reduction.size()));
      reduction.push_back(x[i]);
      count *= static_cast<double>(x[i]);
    }
  }
  Scalar average = Scalar::reduced() * Scalar::constant(1 / count);
  Scalar value = builder.read(0, data);
  expression::Stage mean = reduce_stage("mean", output, Reduction::Sum, reduction, value);
  mean.epilogue = average;
  builder.add_stage(std::move(mean));
  Scalar difference = value - Scalar::read("mean", at);
  expression::Stage inverse =
      reduce_stage("inverse", output, Reduction::Sum, reduction, difference * difference);
  inverse.epilogue = inverse_root(average, epsilon);
  builder.add_stage(std::move(inverse));
  return {Scalar::read("mean", at), Scalar::read("inverse", at), "mean", "inverse"};
}

std::optional<Lowered> lower_layer_normalization(const graph::Node& node,
                                                 const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  auto rank = static_cast<int64_t>(x.size());
  int64_t first = normalize_axis(node.integer("axis", -1), rank, node);
  std::vector<bool> kept(x.size());
  for (size_t i = 0; i < x.size(); ++i) kept[i] = static_cast<int64_t>(i) < first;
  Moments moments = add_moments(builder, kept, node.real("epsilon", 1e-5F));
  Scalar body = (builder.read(0, all_axes(x.size())) - moments.mean) * moments.inverse *
                builder.read_broadcast(1, x);
  if (builder.has(2)) body = body + builder.read_broadcast(2, x);
  std::vector<std::string> outputs = {builder.add_stage(map_stage("y", x, body))};
  if (node.outputs.size() > 1) outputs.push_back(moments.mean_stage);
  if (node.outputs.size() > 2) outputs.push_back(moments.inverse_stage);
  return builder.finish(outputs);
}

std::optional<Lowered> lower_instance_normalization(const graph::Node& node,
                                                    const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  std::vector<bool> kept(x.size(), false);
  kept[0] = true;
  if (x.size() > 1) kept[1] = true;
  Moments moments = add_moments(builder, kept, node.real("epsilon", 1e-5F));
  Scalar body = (builder.read(0, all_axes(x.size())) - moments.mean) * moments.inverse *
                    builder.read_along(1, 1) +
                builder.read_along(2, 1);
  return builder.finish({builder.add_stage(map_stage("y", x, body))});
}

// Moments over the channels of a group and all positions; scale and shift belong to the group
// before operator set 21, to the channel since.
std::optional<Lowered> lower_group_normalization(const graph::Node& node,
                                                 const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  const int64_t groups = node.integer("num_groups", 0);
  if (x.size() < 2 || groups < 1 || x[1] % groups != 0) {
    throw UserError(describe(node) + ": " + std::to_string(groups) + " groups of the channels of " +
                    to_string(x));
  }
  const int64_t each = x[1] / groups;
  Shape reduction = {each};
  std::vector<Index> data = {axis(0), axis(1) * each + reduction_axis(0)};
  double count = static_cast<double>(each);
  for (size_t i = 2; i < x.size(); ++i) {
    data.push_back(reduction_axis(reduction.size()));
    reduction.push_back(x[i]);
    count *= static_cast<double>(x[i]);
  }
  const Scalar average = Scalar::reduced() * Scalar::constant(1 / count);
  const Scalar value = builder.read(0, data);
  expression::Stage mean = reduce_stage("mean", {x[0], groups}, Reduction::Sum, reduction, value);
  mean.epilogue = average;
  builder.add_stage(std::move(mean));
  const Scalar difference = value - Scalar::read("mean", {axis(0), axis(1)});
  expression::Stage inverse =
      reduce_stage("inverse", {x[0], groups}, Reduction::Sum, reduction, difference * difference);
  inverse.epilogue = inverse_root(average, node.real("epsilon", 1e-5F));
  builder.add_stage(std::move(inverse));
  const Index group = floor_div(axis(1), each);
  const Index parameter = builder.opset() < 21 ? group : axis(1);
  const Scalar normal =
      (builder.read(0, all_axes(x.size())) - Scalar::read("mean", {axis(0), group})) *
      Scalar::read("inverse", {axis(0), group});
  const Scalar body = normal * builder.read(1, {parameter}) + builder.read(2, {parameter});
  return builder.finish({builder.add_stage(map_stage("y", x, body))});
}

// (x - mean) / sqrt(variance) over the listed axes; ONNX adds 1e-9 to the standard deviation.
std::optional<Lowered> lower_mean_variance(const graph::Node& node,
                                           const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  std::vector<bool> kept(x.size(), true);
  for (int64_t reduced :
       normalize_axes(node.integers("axes", {0, 2, 3}), static_cast<int64_t>(x.size()), node)) {
    kept[static_cast<size_t>(reduced)] = false;
  }
  Moments moments = add_moments(builder, kept, 1e-18);
  return builder.finish({builder.add_stage(
      map_stage("y", x, (builder.read(0, all_axes(x.size())) - moments.mean) * moments.inverse))});
}

// y = x / (bias + alpha / size * sum of x^2 over `size` neighbouring channels) ^ beta.
std::optional<Lowered> lower_local_response(const graph::Node& node,
                                            const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  int64_t size = node.integer("size", 0);
  if (size < 1 || x.size() < 2) builder.unsupported("size must be positive, with channels");
  std::vector<Index> data = all_axes(x.size());
  data[1] = axis(1) + reduction_axis(0) - (size - 1) / 2;
  Scalar neighbour = builder.read(0, data);
  expression::Stage sum = reduce_stage("y", x, Reduction::Sum, {size}, neighbour * neighbour);
  double alpha = node.real("alpha", 1e-4F);
  Scalar base = Scalar::constant(node.real("bias", 1.0F)) +
                Scalar::reduced() * Scalar::constant(alpha / static_cast<double>(size));
  sum.epilogue = builder.read(0, all_axes(x.size())) *
                 Scalar::binary(expression::Binary::Power, base,
                                Scalar::constant(-static_cast<double>(node.real("beta", 0.75F))));
  return builder.finish({builder.add_stage(std::move(sum))});
}

}  // namespace

std::vector<KernelDefinition> normalization_kernels() {
  return {{"BatchNormalization", lower_batch_normalization, plain_batch_normalization},
          {"GroupNormalization", lower_group_normalization, nullptr},
          {"LayerNormalization", lower_layer_normalization, nullptr},
          {"InstanceNormalization", lower_instance_normalization, nullptr},
          {"MeanVarianceNormalization", lower_mean_variance, nullptr},
          {"LRN", lower_local_response, nullptr}};
}

}  // namespace opsmith::kernels
