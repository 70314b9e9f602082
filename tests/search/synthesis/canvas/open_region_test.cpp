#include "search/synthesis/canvas/open_region.h"

#include <gtest/gtest.h>

#include "search/synthesis/canvas/realisation.h"
#include "search/synthesis/canvas/sampler.h"
#include "tests/search/synthesis/canvas/layers.h"
#include "tests/substitute/operator/tensors.h"

namespace opsmith::synthesis::canvas {
namespace {

using substitute::ValueGraph;

/// The tensor that the first `count` nodes of an operator end in.
Tensor interpreted(ValueGraph graph, size_t count, const substitute::SizeValues& values,
                   const expression::Tensors& tensors) {
  graph.nodes.resize(count);
  const expression::Program program = substitute::lower(graph, values, {});
  expression::Tensors used;
  for (const auto* declarations : {&program.inputs, &program.weights})
    for (const auto& declaration : *declarations)
      used[declaration.name] = tensors.at(declaration.name);
  return expression::interpret(program, used).at(graph.output());
}

/// A kernel of Canvas's space with one of its linear pieces replaced by operators of Syno's: the
/// piece computes what the operator alone computes of the piece's operand.
TEST(OpenRegion, IsFilledByOperatorsOfSynosSpace) {
  const std::vector<substitute::LayerShape> layers = {testing::convolution(8, 8, 5, 4),
                                                      testing::convolution(16, 16, 4, 3)};
  SamplingOptions options;
  options.kernels = 40;
  const SamplingResult kernels = sample(layers, testing::small_limits(), options);
  Limits limits = Limits::resnet18();
  limits.depth = 7;
  limits.tensors = 2;
  limits.reductions = 3;
  limits.least_weight = 2;
  limits.least_macs = 0;
  limits.most_macs = 2;
  limits.unfold_ratio = 1;
  synthesis::SamplingOptions few;
  few.operators = 2;
  few.trials = 3000;
  few.seconds = 5;
  int filled = 0;
  for (const Sample& kernel : kernels.samples) {
    if (filled >= 10) break;
    const Targets targets(layers, kernel.groups);
    for (const OpenRegion& region : open_regions(kernel.kernel, targets, kernel.solution)) {
      for (const auto& found : synthesis::sample(region.problem, limits, few).samples) {
        for (size_t layer = 0; layer < layers.size(); ++layer) {
          const ValueGraph graph =
              fill(kernel.kernel, targets, kernel.solution, region, found.found, layer);
          SCOPED_TRACE(print(graph));
          EXPECT_EQ(substitute::parse_operator(print(graph)), graph);
          substitute::SizeValues values;
          for (const auto& [name, value] : expression::Binding{
                   {"N", 1}, {"H", layers[layer].height}, {"W", layers[layer].width}})
            values.insert_or_assign(name, expression::Index(value));
          const expression::Program program = substitute::lower(graph, values, {});
          expression::Tensors tensors = substitute::testing::random_tensors(program, 5);
          const ValueGraph before = realise(kernel.kernel, targets, kernel.solution, layer);
          size_t at = 0;
          while (at < graph.nodes.size() && graph.nodes[at] == before.nodes[at]) ++at;
          ASSERT_LT(at, graph.nodes.size());
          const auto& piece = std::get<substitute::Region>(graph.nodes[at].operation);
          expression::Tensors alone;
          size_t operand = 0;
          while (operand < at && graph.nodes[operand].name != piece.data()[0].tensor) ++operand;
          alone["x"] = piece.data()[0].tensor == "x"
                           ? tensors.at("x")
                           : interpreted(graph, operand + 1, values, tensors);
          for (const substitute::Operand& weight : piece.weights())
            alone[weight.tensor.substr(weight.tensor.find('_') + 1)] = tensors.at(weight.tensor);
          ValueGraph single = found.found.graph;
          single.sizes.insert(graph.sizes.begin(), graph.sizes.end());
          EXPECT_LE(relative_error(interpreted(graph, at + 1, values, tensors),
                                   interpreted(single, 1, values, alone)),
                    1e-5);
          ++filled;
        }
      }
    }
  }
  EXPECT_GE(filled, 10);
}

}  // namespace
}  // namespace opsmith::synthesis::canvas
