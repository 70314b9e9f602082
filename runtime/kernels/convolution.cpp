#include "runtime/kernels/families.h"
#include "runtime/kernels/program_builder.h"
#include "runtime/kernels/window.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

using expression::Index;
using expression::Reduction;
using expression::Scalar;

// y[n, o, p...] = sum over c, k... of x[n, group(o) * C/g + c, p * stride - pad + k * dilation]
//                 * w[o, c, k...], plus bias[o].
std::optional<Lowered> lower_convolution(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  const Shape& w = builder.shape(1);
  if (x.size() < 3 || w.size() != x.size()) {
    throw UserError(describe(node) + ": input " + to_string(x) + " and weight " + to_string(w) +
                    " are no convolution");
  }
  int64_t groups = node.integer("group", 1);
  if (groups < 1 || w[0] % groups != 0 || x[1] != w[1] * groups) {
    throw UserError(describe(node) + ": input " + to_string(x) + " and weight " + to_string(w) +
                    " do not fit " + std::to_string(groups) + " groups");
  }
  Window window = make_window(node, {x.begin() + 2, x.end()}, {w.begin() + 2, w.end()});

  Shape output = {x[0], w[0]};
  Shape reduction = {w[1]};
  Index channel = reduction_axis(0);
  if (groups > 1) channel = floor_div(axis(1), w[0] / groups) * w[1] + channel;
  if (groups > 1 && w[1] == 1 && w[0] == groups) channel = axis(1);  // depthwise
  std::vector<Index> data = {axis(0), channel};
  std::vector<Index> weight = {axis(1), reduction_axis(0)};
  for (size_t i = 0; i < window.rank(); ++i) {
    output.push_back(window.output[i]);
    reduction.push_back(window.kernel[i]);
    data.push_back(axis(2 + i) * window.strides[i] + reduction_axis(1 + i) * window.dilations[i] +
                   window.origin(i));
    weight.push_back(reduction_axis(1 + i));
  }
  expression::Stage stage =
      reduce_stage("y", output, Reduction::Sum, reduction,
                   builder.read(0, std::move(data)) * builder.read(1, std::move(weight)));
  if (builder.has(2)) stage.epilogue = Scalar::reduced() + builder.read_along(2, 1);
  return builder.finish({builder.add_stage(std::move(stage))});
}

}  // namespace

std::vector<KernelDefinition> convolution_kernels() {
  return {{"Conv", lower_convolution, nullptr}};
}

}  // namespace opsmith::kernels
