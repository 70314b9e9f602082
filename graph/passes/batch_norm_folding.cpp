#include <cmath>

#include "graph/passes/affine.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace opsmith::graph {
namespace {

/// Scale and shift of a BatchNormalization in inference; nullopt while training or where its
/// statistics are no constants.
std::optional<Affine> affine_of(const Graph& graph, const Node& node, int64_t opset) {
  if (!node.is("BatchNormalization")) return std::nullopt;
  const bool training = opset < 7    ? node.integer("is_test", 0) == 0
                        : opset < 14 ? node.outputs.size() > 1
                                     : node.integer("training_mode", 0) != 0;
  if (training || node.integer("spatial", 1) != 1) return std::nullopt;
  const Tensor* statistics[4];  // scale, bias, mean, variance
  for (size_t i = 0; i < 4; ++i) {
    statistics[i] = graph.constant(node.input(i + 1));
    if (!statistics[i] || statistics[i]->type() != ElementType::Float32 ||
        statistics[i]->count() != statistics[0]->count()) {
      return std::nullopt;
    }
  }
  const double epsilon = node.real("epsilon", 1e-5f);
  Affine affine;
  for (size_t c = 0; c < static_cast<size_t>(statistics[0]->count()); ++c) {
    const auto at = [&](size_t i) { return double{statistics[i]->data<float>()[c]}; };
    const double scale = at(0) / std::sqrt(at(3) + epsilon);
    affine.scale.push_back(scale);
    affine.shift.push_back(at(1) - at(2) * scale);
  }
  return affine;
}

}  // namespace

// before:  x -> Conv(w, b) -> BatchNormalization(scale, bias, mean, variance) -> y
// after:   x -> Conv(w', b') -> y
//
// Also after ConvTranspose and Gemm. Not: a normalisation that is training, a convolution whose
// output others read too, weights that are computed.
int fold_batch_norms(Model& model, const PassContext&) {
  return for_each_graph(model, [&model](Graph& graph) {
    const std::vector<int32_t> producers = graph.producers();
    const std::vector<std::vector<int32_t>> consumers = graph.consumers();
    std::vector<char> dead(graph.nodes.size(), 0);
    int changes = 0;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const ValueId between = graph.nodes[i].input(0);
      if (between == kNoValue || producers[static_cast<size_t>(between)] < 0) continue;
      Node& before = graph.nodes[static_cast<size_t>(producers[static_cast<size_t>(between)])];
      const std::optional<Affine> affine =
          affine_of(graph, graph.nodes[i], model.opset_of(graph.nodes[i]));
      if (!affine || only_reader(graph, consumers, between) != static_cast<int32_t>(i)) continue;
      if (before.is("Gemm") && model.opset_of(before) < 7)
        continue;  // its addend was not broadcast by itself
      const std::optional<int64_t> channels = foldable_channels(graph, before);
      if (!channels || *channels != static_cast<int64_t>(affine->scale.size())) continue;
      if (!redirect(graph, graph.nodes[i].output(0), between)) continue;
      fold_into(graph, before, *affine);
      dead[i] = 1;
      ++changes;
    }
    erase_nodes(graph, dead);
    return changes;
  });
}

}  // namespace opsmith::graph
