#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/dispatch.h"
#include "runtime/kernels/program_builder.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

using expression::Index;
using expression::Reduction;
using expression::Scalar;
using expression::Unary;

/// One of ONNX's Reduce operators: finish(reduce(prepare(x))).
struct ReduceOperator {
  std::string type;
  Reduction reduction = Reduction::Sum;
  std::function<Scalar(Scalar)> prepare;
  std::function<Scalar(Scalar, double count)> finish;
};

std::vector<bool> reduced_axes(std::vector<int64_t> axes, const Shape& x, const graph::Node& node) {
  bool all = axes.empty() && node.integer("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(x.size(), all);
  for (int64_t a : normalize_axes(std::move(axes), static_cast<int64_t>(x.size()), node)) {
    reduced[static_cast<size_t>(a)] = true;
  }
  return reduced;
}

std::optional<Lowered> lower_reduce(const graph::Node& node, const LoweringContext& context,
                                    const ReduceOperator& kind) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals(0)) return std::nullopt;
  if (builder.has(1) && builder.constant(1) == nullptr) return std::nullopt;
  const Shape& x = builder.shape(0);
  std::vector<bool> reduced = reduced_axes(builder.integers(1, "axes"), x, node);
  bool keep = node.integer("keepdims", 1) != 0;
  Shape output, reduction;
  std::vector<Index> data;
  double count = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    if (reduced[i]) {
      data.push_back(reduction_axis(reduction.size()));
      reduction.push_back(x[i]);
      count *= static_cast<double>(x[i]);
      if (keep) output.push_back(1);
    } else {
      data.push_back(axis(output.size()));
      output.push_back(x[i]);
    }
  }
  auto finish = [&](const Scalar& value) {
    return kind.finish ? kind.finish(value, count) : value;
  };
  Scalar value = builder.read(0, data);
  if (kind.prepare) value = kind.prepare(value);
  if (reduction.empty()) {
    return builder.finish({builder.add_stage(map_stage("y", output, finish(value)))});
  }
  expression::Stage stage = reduce_stage("y", output, kind.reduction, reduction, value);
  Scalar result = finish(Scalar::reduced());
  if (result.kind() != Scalar::Kind::Reduced) stage.epilogue = result;
  return builder.finish({builder.add_stage(std::move(stage))});
}

// Maximum first, so that the exponentials do not overflow.
std::optional<Lowered> lower_log_sum_exp(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals(0)) return std::nullopt;
  if (builder.has(1) && builder.constant(1) == nullptr) return std::nullopt;
  const Shape& x = builder.shape(0);
  std::vector<bool> reduced = reduced_axes(builder.integers(1, "axes"), x, node);
  bool keep = node.integer("keepdims", 1) != 0;
  Shape output, reduction;
  std::vector<Index> data;
  for (size_t i = 0; i < x.size(); ++i) {
    if (reduced[i]) {
      data.push_back(reduction_axis(reduction.size()));
      reduction.push_back(x[i]);
      if (keep) output.push_back(1);
    } else {
      data.push_back(axis(output.size()));
      output.push_back(x[i]);
    }
  }
  if (reduction.empty()) {
    return builder.finish({builder.add_stage(map_stage("y", output, builder.read(0, data)))});
  }
  builder.add_stage(
      reduce_stage("largest", output, Reduction::Maximum, reduction, builder.read(0, data)));
  Scalar largest = Scalar::read("largest", all_axes(output.size()));
  expression::Stage stage =
      reduce_stage("y", output, Reduction::Sum, reduction,
                   Scalar::unary(Unary::Exp, builder.read(0, data) - largest));
  stage.epilogue = Scalar::unary(Unary::Log, Scalar::reduced()) + largest;
  return builder.finish({builder.add_stage(std::move(stage))});
}

// Element types other than f32: accumulation in the wide type of the same kind.
template <typename T>
void reduce_plain(const Tensor& x, Tensor& y, const std::vector<bool>& reduced,
                  const std::string& type) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  auto in = x.data<T>();
  auto out = y.data<T>();
  bool maximum = type == "ReduceMax", minimum = type == "ReduceMin", product = type == "ReduceProd";
  Wide start = product ? 1 : 0;
  if (maximum) start = static_cast<Wide>(std::numeric_limits<T>::lowest());
  if (minimum) start = static_cast<Wide>(std::numeric_limits<T>::max());
  std::vector<Wide> sums(out.size(), start);
  std::vector<int64_t> strides(x.shape().size(), 0);
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    if (reduced[i]) continue;
    strides[i] = stride;
    stride *= x.shape()[i];
  }
  for (size_t flat = 0; flat < in.size(); ++flat) {
    int64_t rest = static_cast<int64_t>(flat), at = 0;
    for (size_t i = strides.size(); i-- > 0;) {
      at += rest % x.shape()[i] * strides[i];
      rest /= x.shape()[i];
    }
    Wide& sum = sums[static_cast<size_t>(at)];
    Wide value = static_cast<Wide>(in[flat]);
    if (maximum)
      sum = std::max(sum, value);
    else if (minimum)
      sum = std::min(sum, value);
    else if (product)
      sum *= value;
    else if (type == "ReduceL1")
      sum += value < 0 ? -value : value;
    else if (type == "ReduceSumSquare" || type == "ReduceL2")
      sum += value * value;
    else if (type == "ReduceLogSumExp")
      sum += static_cast<Wide>(std::exp(static_cast<double>(value)));
    else
      sum += value;
  }
  Wide count = out.empty() ? 1 : static_cast<Wide>(in.size() / out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    Wide value = sums[i];
    if (type == "ReduceMean") value = count == 0 ? 0 : value / count;
    if (type == "ReduceL2") value = static_cast<Wide>(std::sqrt(static_cast<double>(value)));
    if (type == "ReduceLogSum" || type == "ReduceLogSumExp") {
      value = static_cast<Wide>(std::log(static_cast<double>(value)));
    }
    out[i] = static_cast<T>(value);
  }
}

std::vector<Tensor> plain_reduce(const PlainCall& call) {
  const Tensor& x = call.input(0);
  std::vector<bool> reduced =
      reduced_axes(call.integers(1, call.node.integers("axes")), x.shape(), call.node);
  Shape shape;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i])
      shape.push_back(x.shape()[i]);
    else if (call.node.integer("keepdims", 1) != 0)
      shape.push_back(1);
  }
  Tensor y = call.output(0, x.type(), shape);
  dispatch_numeric(x.type(), call.node,
                   [&](auto tag) { reduce_plain<decltype(tag)>(x, y, reduced, call.node.type); });
  return {y};
}

}  // namespace

std::vector<KernelDefinition> reduction_kernels() {
  auto absolute = [](const Scalar& x) { return Scalar::unary(Unary::Absolute, x); };
  auto square = [](const Scalar& x) { return x * x; };
  auto mean = [](const Scalar& x, double count) { return x * Scalar::constant(1 / count); };
  auto root = [](const Scalar& x, double) { return Scalar::unary(Unary::Sqrt, x); };
  auto logarithm = [](const Scalar& x, double) { return Scalar::unary(Unary::Log, x); };
  std::vector<ReduceOperator> kinds = {
      {"ReduceSum", Reduction::Sum, nullptr, nullptr},
      {"ReduceMean", Reduction::Sum, nullptr, mean},
      {"ReduceMax", Reduction::Maximum, nullptr, nullptr},
      {"ReduceMin", Reduction::Minimum, nullptr, nullptr},
      {"ReduceProd", Reduction::Product, nullptr, nullptr},
      {"ReduceL1", Reduction::Sum, absolute, nullptr},
      {"ReduceL2", Reduction::Sum, square, root},
      {"ReduceSumSquare", Reduction::Sum, square, nullptr},
      {"ReduceLogSum", Reduction::Sum, nullptr, logarithm},
  };
  std::vector<KernelDefinition> definitions = {
      {"ReduceLogSumExp", lower_log_sum_exp, plain_reduce}};
  for (const ReduceOperator& kind : kinds) {
    definitions.push_back({kind.type,
                           [kind](const graph::Node& node, const LoweringContext& context) {
                             return lower_reduce(node, context, kind);
                           },
                           plain_reduce});
  }
  return definitions;
}

}  // namespace opsmith::kernels
