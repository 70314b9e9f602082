#include "runtime/kernels/families.h"
#include "runtime/kernels/program_builder.h"
#include "runtime/kernels/window.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

using expression::Index;
using expression::Reduction;
using expression::Scalar;

// As a gather: output position p receives x[q] * w[k] where q * stride + k * dilation - pad = p,
// so q = (p + pad - k * dilation) / stride where that divides; elsewhere the read is zero.
std::optional<Lowered> lower_transposed(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  const Shape& w = builder.shape(1);
  int64_t groups = node.integer("group", 1);
  if (x.size() < 3 || w.size() != x.size() || groups < 1 || x[1] != w[0] || w[0] % groups != 0) {
    throw UserError(describe(node) + ": input " + to_string(x) + " and weight " + to_string(w) +
                    " are no transposed convolution of " + std::to_string(groups) + " groups");
  }
  Window window = make_transposed_window(node, {x.begin() + 2, x.end()}, {w.begin() + 2, w.end()});

  int64_t channels = w[0] / groups;  // of the input, per group
  Shape output = {x[0], w[1] * groups};
  Shape reduction = {channels};
  Index channel = reduction_axis(0);
  Index filter = axis(1);
  if (groups > 1) {
    channel = floor_div(axis(1), w[1]) * channels + channel;
    filter = mod(axis(1), w[1]);
  }
  std::vector<Index> data = {axis(0), channel};
  std::vector<Index> weight = {channel, filter};
  for (size_t i = 0; i < window.rank(); ++i) {
    output.push_back(window.output[i]);
    reduction.push_back(window.kernel[i]);
    Index distance =
        axis(2 + i) - reduction_axis(1 + i) * window.dilations[i] + window.pads_begin[i];
    data.push_back(window.strides[i] == 1 ? distance
                                          : floor_div(distance, window.strides[i]) +
                                                within(mod(distance, window.strides[i]), 1));
    weight.push_back(reduction_axis(1 + i));
  }
  expression::Stage stage =
      reduce_stage("y", output, Reduction::Sum, reduction,
                   builder.read(0, std::move(data)) * builder.read(1, std::move(weight)));
  if (builder.has(2)) stage.epilogue = Scalar::reduced() + builder.read_along(2, 1);
  return builder.finish({builder.add_stage(std::move(stage))});
}

}  // namespace

std::vector<KernelDefinition> transposed_convolution_kernels() {
  return {{"ConvTranspose", lower_transposed, nullptr}};
}

}  // namespace opsmith::kernels
