#include "graph/passes/affine.h"

#include "support/error.h"

namespace opsmith::graph {
namespace {

const Tensor* real_constant(const Graph& graph, ValueId id) {
  const Tensor* tensor = graph.constant(id);
  return tensor && tensor->type() == ElementType::Float32 ? tensor : nullptr;
}

/// The dimension of the weight that counts output channels, and the groups it is repeated over.
struct ChannelAxis {
  size_t axis = 0;
  int64_t groups = 1;
};

ChannelAxis channel_axis(const Node& node) {
  if (node.is("ConvTranspose")) return {1, node.integer("group", 1)};
  if (node.is("Gemm")) return {node.integer("transB", 0) != 0 ? size_t{0} : size_t{1}, 1};
  return {0, 1};
}

/// The weight with every element times the scale of its output channel.
Tensor scaled_weight(const Tensor& weight, const Node& node, const std::vector<double>& scale) {
  const ChannelAxis where = channel_axis(node);
  int64_t inner = 1;
  for (size_t i = where.axis + 1; i < weight.shape().size(); ++i) inner *= weight.shape()[i];
  const int64_t channels = weight.shape()[where.axis];
  // Input channels of a ConvTranspose come in groups, each with output channels of its own.
  const int64_t rows_per_group = where.groups > 1 ? weight.shape()[0] / where.groups : 0;
  Tensor result = weight.clone();
  const std::span<float> elements = result.data<float>();
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto position = static_cast<int64_t>(i) / inner;
    int64_t channel = position % channels;
    if (rows_per_group > 0) channel += position / channels / rows_per_group * channels;
    elements[i] = static_cast<float>(elements[i] * scale[static_cast<size_t>(channel)]);
  }
  return result;
}

}  // namespace

std::optional<int64_t> foldable_channels(const Graph& graph, const Node& node) {
  const bool convolves = node.is("Conv") || node.is("ConvTranspose");
  if (!convolves && !node.is("Gemm")) return std::nullopt;
  const Tensor* weight = real_constant(graph, node.input(1));
  const ChannelAxis where = channel_axis(node);
  if (!weight || weight->rank() < 2 || where.groups < 1) return std::nullopt;
  const int64_t channels = weight->shape()[where.axis] * where.groups;
  if (where.groups > 1 && weight->shape()[0] % where.groups != 0) return std::nullopt;
  if (node.input(2) != kNoValue) {
    const Tensor* bias = real_constant(graph, node.input(2));
    if (!bias || bias->count() == 0) return std::nullopt;
    // A Gemm's addend may also be one number, or a row, for all; never a column here.
    const bool row = bias->shape() == Shape{channels} || bias->shape() == Shape{1, channels};
    if (!row && !(node.is("Gemm") && bias->count() == 1)) return std::nullopt;
  }
  return channels;
}

void fold_into(Graph& graph, Node& node, const Affine& affine) {
  const std::optional<int64_t> channels = foldable_channels(graph, node);
  require(channels && *channels == static_cast<int64_t>(affine.scale.size()) &&
              affine.scale.size() == affine.shift.size(),
          "node " + describe(node) + " cannot take a scale and shift");
  const double beta = node.is("Gemm") ? node.real("beta", 1) : 1;
  const Tensor* old_bias = graph.constant(node.input(2));
  Tensor bias(ElementType::Float32, {*channels});
  for (size_t c = 0; c < affine.scale.size(); ++c) {
    double value = 0;
    if (old_bias) value = beta * old_bias->data<float>()[old_bias->count() == 1 ? 0 : c];
    bias.data<float>()[c] = static_cast<float>(value * affine.scale[c] + affine.shift[c]);
  }
  Tensor weight = scaled_weight(*graph.constant(node.input(1)), node, affine.scale);
  const std::string weight_name = graph.value(node.input(1)).name;
  const ValueId new_weight = graph.add_constant(weight_name + "_folded", std::move(weight));
  const ValueId new_bias = graph.add_constant(weight_name + "_bias", std::move(bias));
  node.inputs.resize(3, kNoValue);
  node.inputs[1] = new_weight;
  node.inputs[2] = new_bias;
  node.attributes.erase("beta");
}

}  // namespace opsmith::graph
