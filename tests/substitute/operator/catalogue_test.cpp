#include "substitute/operator/catalogue/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "substitute/operator/value_graph.h"
#include "tests/substitute/operator/layers.h"

namespace opsmith::substitute {
namespace {

using testing::convolution;
using testing::product;

const Candidate* find(const std::vector<Candidate>& candidates, const std::string& name) {
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& c) { return c.name == name; });
  return found == candidates.end() ? nullptr : &*found;
}

TEST(Catalogue, OffersEveryKindOfOperatorToAPlainLayer) {
  const std::vector<Candidate> candidates = catalogue(convolution(64, 64, 56));
  for (const char* name : {"grouped-then-pointwise g=4", "bottleneck-then-pointwise width=16",
                           "pointwise-bottleneck width=16", "depthwise-then-pointwise multiplier=1",
                           "spatially-separable width=32", "shift-then-pointwise block=8"})
    EXPECT_NE(find(candidates, name), nullptr) << name;
  EXPECT_NE(find(catalogue(product(128, 64)), "low-rank-product rank=16"), nullptr);
  EXPECT_NE(find(catalogue(convolution(64, 128, 7, 1)), "low-rank-pointwise rank=16"), nullptr);
  EXPECT_NE(find(catalogue(convolution(64, 128, 7, 1)), "grouped-pointwise g=4"), nullptr);
}

TEST(Catalogue, CandidatesAreValidCheaperDistinctAndSorted) {
  for (const LayerShape& layer :
       {convolution(64, 128, 56), convolution(32, 64, 7, 3, 2), convolution(24, 40, 13, 5),
        convolution(16, 16, 9, 3, 1, 2), convolution(48, 96, 14, 1, 2), product(784, 10)}) {
    std::set<std::string> names;
    int64_t before = layer_macs(layer);
    for (const Candidate& candidate : catalogue(layer)) {
      SCOPED_TRACE(to_string(layer) + ": " + candidate.name);
      EXPECT_TRUE(names.insert(candidate.name).second);
      EXPECT_NO_THROW(expression::validate(candidate.program));
      EXPECT_LT(candidate.macs(layer), layer_macs(layer));
      EXPECT_LE(candidate.macs(layer), before);
      before = candidate.macs(layer);
      EXPECT_EQ(print(parse_operator(candidate.text)), candidate.text);
      EXPECT_EQ(expression::print(expression::parse(expression::print(candidate.program))),
                expression::print(candidate.program));
    }
    EXPECT_FALSE(names.empty()) << to_string(layer);
  }
}

TEST(Catalogue, CountsMultiplyAccumulatesAsByHand) {
  const LayerShape layer = convolution(64, 64, 14);
  const std::vector<Candidate> candidates = catalogue(layer);
  const int64_t positions = 14 * 14;
  EXPECT_EQ(find(candidates, "grouped-then-pointwise g=4")->macs(layer),
            positions * (64 * 16 * 9 + 64 * 64));
  EXPECT_EQ(find(candidates, "bottleneck-then-pointwise width=16")->macs(layer, 5),
            5 * positions * (64 * 16 * 9 + 16 * 64));
  EXPECT_EQ(find(candidates, "depthwise-then-pointwise multiplier=1")->parameters(),
            64 * 9 + 64 * 64);
}

TEST(Catalogue, CountsSynosOperatorAsPublished) {
  // Syno's reported layer: 64 channels at 56 x 56, batch 128, k = 3, g = 32, s = 2.
  const LayerShape layer = convolution(64, 64, 56);
  const std::vector<Candidate> candidates = catalogue(layer);
  const Candidate* operator_2 = find(candidates, "syno-operator-2 g=32 s=2");
  ASSERT_NE(operator_2, nullptr);
  EXPECT_EQ(operator_2->macs(layer, 128), 2543321088);
  EXPECT_EQ(operator_2->parameters(), 64 * 32 * 3 + 64 * 3);
  // g * s = 64 does not divide 32 channels.
  EXPECT_EQ(find(catalogue(convolution(32, 32, 56)), "syno-operator-2 g=32 s=2"), nullptr);
}

TEST(Catalogue, DemandsExactDivision) {
  // Pools rows in pairs and repeats them.
  const OperatorDefinition definition = {"halved", "", R"(operator halved
input x[N, C_in, H, W]
region t[n: N, c: C_in, h: H/s, w: W] {
  reduce a: s
  split h, a -> p
  read x[n, c, p, w]
}
region y[n: N, o: C_out, h: H, w: W] {
  reduce c: C_in
  share c -> c_t, c_w
  merge h by s -> p, rest
  expand rest
  read t[n, c_t, p, w]
  weight w1[o, c_w]
}
)",
                                         nullptr};
  const Offer offer = {"s=2", {{"s", 2}}};
  LayerShape layer = convolution(8, 8, 6);
  EXPECT_TRUE(instantiate(definition, offer, layer).candidate.has_value());
  layer.height = 7;
  EXPECT_EQ(instantiate(definition, offer, layer).refusal, "the size H/s is not a whole number");
  layer.height = 0;
  EXPECT_EQ(instantiate(definition, offer, layer).refusal,
            "the size H/s is not a whole number for every H");
}

TEST(Catalogue, SaysWhyAnOperatorIsNotOffered) {
  const std::vector<Refusal> all = refusals(convolution(6, 6, 7, 3, 2));
  const auto why = [&](const std::string& name) {
    for (const Refusal& refusal : all)
      if (refusal.name == name) return refusal.why;
    return std::string();
  };
  EXPECT_EQ(why("syno-operator-1"), "it has stride 2");
  EXPECT_EQ(why("low-rank-product"), "it is no matrix product");
  EXPECT_EQ(why("shift-then-pointwise"), "it has fewer channels than its window has elements");
  EXPECT_EQ(why("grouped-then-pointwise g=2"), "");
}

}  // namespace
}  // namespace opsmith::substitute
