#include "graph/passes/affine.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace opsmith::graph {
namespace {

/// The constant as one number for each of `channels`, when it varies along dimension 1 of a tensor
/// of this rank and nothing else; nullopt otherwise.
std::optional<std::vector<double>> per_channel(const Tensor& constant, int64_t channels,
                                               size_t rank) {
  const Shape& shape = constant.shape();
  if (constant.type() != ElementType::Float32 || shape.size() > rank || constant.count() == 0) {
    return std::nullopt;
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool channel = i + rank - shape.size() == 1;
    if (shape[i] != 1 && !(channel && shape[i] == channels)) return std::nullopt;
  }
  std::vector<double> values;
  for (int64_t c = 0; c < channels; ++c) {
    values.push_back(constant.data<float>()[constant.count() == 1 ? 0 : static_cast<size_t>(c)]);
  }
  return values;
}

/// What an Add, Sub, Mul or Div of `input` with a constant does to each channel.
std::optional<Affine> affine_of(const Graph& graph, const Node& node, size_t input,
                                int64_t channels, size_t rank) {
  const bool known = node.is("Add") || node.is("Sub") || node.is("Mul") || node.is("Div");
  if (!known || node.inputs.size() != 2) return std::nullopt;
  const Tensor* constant = graph.constant(node.input(1 - input));
  const auto values = constant ? per_channel(*constant, channels, rank) : std::nullopt;
  if (!values) return std::nullopt;
  Affine affine;
  for (const double value : *values) {
    double scale = 1;
    double shift = 0;
    if (node.is("Add")) {
      shift = value;
    } else if (node.is("Mul")) {
      scale = value;
    } else if (node.is("Sub")) {
      scale = input == 0 ? 1 : -1;
      shift = input == 0 ? -value : value;
    } else {
      if (input == 1 || value == 0) return std::nullopt;
      scale = 1 / value;
    }
    affine.scale.push_back(scale);
    affine.shift.push_back(shift);
  }
  return affine;
}

}  // namespace

// before:  x -> Conv(w, b) -> Mul(s) -> Add(t) -> y   with s, t numbers or one for each channel
// after:   x -> Conv(w', b') -> y
//
// Also Sub and Div, and after ConvTranspose and Gemm. Not: constants that vary over positions, a
// convolution whose output others read too.
int fold_affine(Model& model, const PassContext&) {
  if (model.opset() < 7) return 0;  // broadcasting had other rules
  return for_each_graph(model, [](Graph& graph) {
    const std::vector<int32_t> producers = graph.producers();
    const std::vector<std::vector<int32_t>> consumers = graph.consumers();
    std::vector<char> dead(graph.nodes.size(), 0);
    int changes = 0;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const size_t input : {size_t{0}, size_t{1}}) {
        if (graph.nodes[i].opset != 0) continue;  // written for other rules, perhaps
        const ValueId between = graph.nodes[i].input(input);
        if (between == kNoValue || producers[static_cast<size_t>(between)] < 0) continue;
        Node& before = graph.nodes[static_cast<size_t>(producers[static_cast<size_t>(between)])];
        const std::optional<int64_t> channels = foldable_channels(graph, before);
        if (!channels || only_reader(graph, consumers, between) != static_cast<int32_t>(i))
          continue;
        const auto rank = static_cast<size_t>(graph.constant(before.input(1))->rank());
        const auto affine = affine_of(graph, graph.nodes[i], input, *channels, rank);
        if (!affine || !redirect(graph, graph.nodes[i].output(0), between)) continue;
        fold_into(graph, before, *affine);
        dead[i] = 1;
        ++changes;
        break;
      }
    }
    erase_nodes(graph, dead);
    return changes;
  });
}

}  // namespace opsmith::graph
