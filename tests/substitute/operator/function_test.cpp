#include <gtest/gtest.h>

#include <random>

#include "substitute/operator/candidate.h"
#include "substitute/operator/layer.h"
#include "tests/substitute/operator/layers.h"
#include "tests/substitute/operator/realisation.h"

namespace opsmith::substitute {
namespace {

using testing::awkward_layers;
using testing::convolution;
using testing::product;
using testing::Realisation;
using testing::realise;

void check_all(LayerShape layer, const expression::Binding& sizes, int64_t opset) {
  uint64_t seed = 1;
  const std::vector<Candidate> candidates = catalogue(layer);
  EXPECT_FALSE(candidates.empty());
  for (const Candidate& candidate : candidates) {
    SCOPED_TRACE(candidate.name + " for " + to_string(layer) + " in opset " +
                 std::to_string(opset));
    const Realisation result = realise(candidate, layer, sizes, opset, seed++, true);
    EXPECT_EQ(result.function.shape(), result.interpreted.shape());
    EXPECT_LT(relative_error(result.function, result.interpreted), 2e-6);
  }
}

TEST(OnnxFunction, AgreesWithTheInterpreterOnAwkwardLayers) {
  for (const LayerShape& layer : awkward_layers())
    for (const int64_t opset : {9, 13, 18})
      check_all(layer, {{"N", 2}, {"H", layer.height}, {"W", layer.width}}, opset);
}

TEST(OnnxFunction, HoldsForAnyExtentWhereTheLayerIsDynamic) {
  for (LayerShape layer : awkward_layers()) {
    layer.height = layer.width = 0;
    check_all(layer, {{"N", 1}, {"H", 8}, {"W", 11}}, 11);
    check_all(layer, {{"N", 3}, {"H", 7}, {"W", 6}}, 17);
  }
}

TEST(OnnxFunction, HoldsForRandomLayers) {
  std::mt19937_64 random(20261121);
  const auto among = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 12; ++i) {
    LayerShape layer = convolution(among(2, 20), among(2, 20), among(5, 9), 2 * among(0, 2) + 1,
                                   among(1, 2), among(1, 2));
    layer.width = among(5, 9);
    for (int64_t* padding :
         {&layer.padding_top, &layer.padding_left, &layer.padding_bottom, &layer.padding_right})
      *padding = among(layer.dilation, 2 * layer.dilation);
    if (layer.kernel_height == 1) layer.dilation = 1;
    if ((layer.kernel_height - 1) * layer.dilation >= layer.height) continue;
    uint64_t seed = 7;
    for (const Candidate& candidate : catalogue(layer)) {
      SCOPED_TRACE(candidate.name + " for " + to_string(layer) + ", case " + std::to_string(i));
      const Realisation result = realise(
          candidate, layer, {{"N", 1}, {"H", layer.height}, {"W", layer.width}}, 15, seed++, true);
      EXPECT_LT(relative_error(result.function, result.interpreted), 2e-6);
    }
  }
}

TEST(OnnxFunction, ProductsTakeAnyRows) {
  for (const int64_t opset : {9, 14}) check_all(product(20, 12), {{"M", 3}}, opset);
}

}  // namespace
}  // namespace opsmith::substitute
