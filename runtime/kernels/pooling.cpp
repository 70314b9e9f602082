#include <limits>

#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/dispatch.h"
#include "runtime/kernels/program_builder.h"
#include "runtime/kernels/window.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

using expression::Index;
using expression::Reduction;
using expression::Scalar;

constexpr double kLowest = -std::numeric_limits<float>::infinity();

Shape spatial(const Shape& x) { return {x.begin() + 2, x.end()}; }

expression::Stage pooling_stage(ProgramBuilder& builder, const Window& window, Reduction reduction,
                                double fill) {
  const Shape& x = builder.shape(0);
  Shape output = {x[0], x[1]};
  std::vector<Index> data = {axis(0), axis(1)};
  for (size_t i = 0; i < window.rank(); ++i) {
    output.push_back(window.output[i]);
    data.push_back(axis(2 + i) * window.strides[i] + reduction_axis(i) * window.dilations[i] +
                   window.origin(i));
  }
  expression::Stage stage =
      reduce_stage("y", output, reduction, window.kernel, builder.read(0, std::move(data)));
  stage.fill = fill;
  return stage;
}

void check_rank(const graph::Node& node, const Shape& x) {
  if (x.size() < 3) {
    throw UserError(describe(node) + ": pooling needs an input with spatial dimensions, not " +
                    to_string(x));
  }
}

std::optional<Lowered> lower_max_pool(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  if (node.output(1) != graph::kNoValue) return std::nullopt;  // indices: plain kernel
  check_rank(node, builder.shape(0));
  Window window = make_window(node, spatial(builder.shape(0)), node.integers("kernel_shape"));
  return builder.finish(
      {builder.add_stage(pooling_stage(builder, window, Reduction::Maximum, kLowest))});
}

// How many elements of the window along one dimension count: those at positions below `end`
// (and from 0 on unless padding counts).
Scalar counted(const Window& window, size_t i, int64_t extent, bool include_pad) {
  Index start = axis(2 + i) * window.strides[i] + window.origin(i);
  int64_t dilation = window.dilations[i];
  int64_t end = extent + (include_pad ? window.pads_end[i] : 0);
  auto ceil_div = [&](const Index& e) {
    return Scalar::position(dilation == 1 ? e : floor_div(e + (dilation - 1), dilation));
  };
  Scalar last = minimum(Scalar::constant(static_cast<double>(window.kernel[i])),
                        ceil_div(Index(end) - start));
  if (include_pad) return last;
  return last - maximum(Scalar::constant(0), ceil_div(Index(0) - start));
}

std::optional<Lowered> lower_average_pool(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  check_rank(node, x);
  Window window = make_window(node, spatial(x), node.integers("kernel_shape"));
  expression::Stage stage = pooling_stage(builder, window, Reduction::Sum, 0);
  bool include_pad = node.integer("count_include_pad", 0) != 0;
  double constant = 1;
  std::optional<Scalar> varying;
  for (size_t i = 0; i < window.rank(); ++i) {
    int64_t last = (window.output[i] - 1) * window.strides[i] + window.origin(i) +
                   (window.kernel[i] - 1) * window.dilations[i];
    int64_t end = x[2 + i] + (include_pad ? window.pads_end[i] : 0);
    if (last < end && (include_pad || window.pads_begin[i] == 0)) {
      constant *= static_cast<double>(window.kernel[i]);
    } else {
      Scalar count = counted(window, i, x[2 + i], include_pad);
      varying = varying ? *varying * count : count;
    }
  }
  Scalar scale = Scalar::constant(1 / constant);
  stage.epilogue = varying ? Scalar::reduced() * scale / *varying : Scalar::reduced() * scale;
  return builder.finish({builder.add_stage(std::move(stage))});
}

/// |x|^p, and the p-th root of a sum of those.
Scalar power(const Scalar& x, double p) {
  const Scalar size = Scalar::unary(expression::Unary::Absolute, x);
  if (p == 1) return size;
  return p == 2 ? x * x : Scalar::binary(expression::Binary::Power, size, Scalar::constant(p));
}
Scalar root(const Scalar& x, double p) {
  if (p == 1) return x;
  if (p == 2) return Scalar::unary(expression::Unary::Sqrt, x);
  return Scalar::binary(expression::Binary::Power, x, Scalar::constant(1 / p));
}

// The exponent was a real number in operator set 1.
double exponent(const graph::Node& node, int64_t opset) {
  return opset < 2 ? static_cast<double>(node.real("p", 2))
                   : static_cast<double>(node.integer("p", 2));
}

std::optional<Lowered> lower_lp_pool(const graph::Node& node, const LoweringContext& context,
                                     bool global) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  check_rank(node, x);
  const double p = exponent(node, builder.opset());
  Window window;
  if (global) {
    window = {spatial(x),
              Shape(x.size() - 2, 1),
              Shape(x.size() - 2, 1),
              Shape(x.size() - 2, 0),
              Shape(x.size() - 2, 0),
              Shape(x.size() - 2, 1)};
  } else {
    window = make_window(node, spatial(x), node.integers("kernel_shape"));
  }
  expression::Stage stage = pooling_stage(builder, window, Reduction::Sum, 0);
  stage.body = power(stage.body, p);
  stage.epilogue = root(Scalar::reduced(), p);
  return builder.finish({builder.add_stage(std::move(stage))});
}

std::optional<Lowered> lower_global_pool(const graph::Node& node, const LoweringContext& context,
                                         Reduction reduction) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  check_rank(node, x);
  Shape output = {x[0], x[1]};
  std::vector<Index> data = {axis(0), axis(1)};
  double count = 1;
  for (size_t i = 2; i < x.size(); ++i) {
    output.push_back(1);
    data.push_back(reduction_axis(i - 2));
    count *= static_cast<double>(x[i]);
  }
  expression::Stage stage = reduce_stage("y", output, reduction, spatial(x), builder.read(0, data));
  if (reduction == Reduction::Maximum) stage.fill = kLowest;
  if (reduction == Reduction::Sum) {
    stage.epilogue = Scalar::reduced() * Scalar::constant(1 / count);
  }
  return builder.finish({builder.add_stage(std::move(stage))});
}

// Maximum and, where asked for, where it lies: flat positions over the whole tensor, row-major or
// column-major.
template <typename T>
void max_pool(const Tensor& x, const Window& window, bool column_major, Tensor& values,
              Tensor* indices) {
  size_t rank = window.rank();
  int64_t plane = 1;
  for (size_t i = 0; i < rank; ++i) plane *= x.shape()[2 + i];
  int64_t results = element_count(window.output);
  int64_t taps = element_count(window.kernel);
  const T* in = elements_as<T>(x);
  std::vector<int64_t> position(rank);
  for (int64_t out = 0; out < values.count(); ++out) {
    int64_t base = out / results * plane;
    T best = std::numeric_limits<T>::lowest();
    int64_t best_at = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t r = out % results, t = tap, offset = 0, stride = 1, column = 0;
      bool inside = true;
      for (size_t i = rank; i-- > 0;) {
        position[i] = (r % window.output[i]) * window.strides[i] + window.origin(i) +
                      (t % window.kernel[i]) * window.dilations[i];
        r /= window.output[i];
        t /= window.kernel[i];
        inside = inside && position[i] >= 0 && position[i] < x.shape()[2 + i];
        offset += position[i] * stride;
        stride *= x.shape()[2 + i];
      }
      if (!inside) continue;
      for (size_t i = rank; i-- > 0;) column = column * x.shape()[2 + i] + position[i];
      T value = in[base + offset];
      if (value > best || value != value) {
        best = value;
        best_at = base + (column_major ? column : offset);
      }
    }
    elements_as<T>(values)[out] = best;
    if (indices != nullptr) elements_as<int64_t>(*indices)[out] = best_at;
  }
}

std::vector<Tensor> plain_max_pool(const PlainCall& call) {
  const Tensor& x = call.input(0);
  check_rank(call.node, x.shape());
  Window window = make_window(call.node, spatial(x.shape()), call.node.integers("kernel_shape"));
  Shape shape = {x.shape()[0], x.shape()[1]};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  std::vector<Tensor> outputs = {call.output(0, x.type(), shape)};
  if (call.node.output(1) != graph::kNoValue) {
    outputs.push_back(call.output(1, ElementType::Int64, shape));
  }
  bool column_major = call.node.integer("storage_order", 0) != 0;
  dispatch_numeric(x.type(), call.node, [&](auto tag) {
    max_pool<decltype(tag)>(x, window, column_major, outputs[0],
                            outputs.size() > 1 ? &outputs[1] : nullptr);
  });
  return outputs;
}

}  // namespace

std::vector<KernelDefinition> pooling_kernels() {
  auto global = [](Reduction reduction) {
    return [reduction](const graph::Node& node, const LoweringContext& context) {
      return lower_global_pool(node, context, reduction);
    };
  };
  return {{"MaxPool", lower_max_pool, plain_max_pool},
          {"AveragePool", lower_average_pool, nullptr},
          {"LpPool",
           [](const graph::Node& node, const LoweringContext& context) {
             return lower_lp_pool(node, context, false);
           },
           nullptr},
          {"GlobalLpPool",
           [](const graph::Node& node, const LoweringContext& context) {
             return lower_lp_pool(node, context, true);
           },
           nullptr},
          {"GlobalAveragePool", global(Reduction::Sum), nullptr},
          {"GlobalMaxPool", global(Reduction::Maximum), nullptr}};
}

}  // namespace opsmith::kernels
