#include <gtest/gtest.h>

#include "substitute/operator/catalogue/catalogue.h"
#include "substitute/operator/value_graph.h"
#include "support/error.h"
#include "tests/substitute/operator/layers.h"
#include "tests/substitute/operator/realisation.h"

namespace opsmith::substitute {
namespace {

using testing::convolution;
using testing::Realisation;
using testing::realise;

/// An operator's text for a layer of 8 -> 8 channels at 6x5 (or dynamic extents), whose own size
/// variables are in `sizes`.
Realisation run(const std::string& text, const expression::Binding& sizes, bool dynamic = false,
                int64_t opset = 13) {
  LayerShape layer = convolution(8, 8, 6);
  layer.width = 5;
  ValueGraph graph = parse_operator(text);
  graph.sizes = sizes;
  Candidate candidate;
  candidate.name = graph.name;
  candidate.text = print(graph);
  candidate.program = lower(graph, layer_values(layer), typical_binding(layer));
  if (dynamic) layer.height = layer.width = 0;
  return realise(candidate, layer, {{"N", 2}, {"H", 6}, {"W", 5}}, opset, 5, false);
}

void expect_agreement(const Realisation& result) {
  EXPECT_EQ(result.function.shape(), result.interpreted.shape());
  EXPECT_LT(relative_error(result.function, result.interpreted), 2e-6);
}

// Operator 2 of Syno, its sums taken in the order that costs least.
constexpr const char* kOperator2InStages = R"(operator operator-2-in-stages
input x[N, C_in, H, W]
region z[n: N, l: g, r: C_out/(g*s), h: H, w: W] {
  reduce b: kw
  reduce c: C_in/g
  share b -> b_x, b_w
  split l, c -> i
  share i -> i_x, i_w
  unfold w, b_x -> q
  read x[n, i_x, h, q]
  weight w1[i_w, b_w, r]
}
region y[n: N, o: C_out, h: H, w: W] {
  reduce l: g
  reduce a: kh
  reduce r: C_out/(g*s)
  share l -> l_z, l_w
  share a -> a_z, a_w
  share r -> r_z, r_w
  unfold h, a_z -> p
  shift p by 1 -> p_1
  read z[n, l_z, r_z, p_1, w]
  weight w2[o, l_w, a_w, r_w]
}
)";

TEST(OnnxFunctionPatterns, WritesGroupsOfManyAxesAndWrappedRowsAsConvolutions) {
  for (const bool dynamic : {false, true}) {
    Realisation result = run(kOperator2InStages, {{"g", 2}, {"s", 2}}, dynamic);
    expect_agreement(result);
    EXPECT_EQ(result.operators["Conv"], 2);
    EXPECT_EQ(result.operators["Gather"], 0);
    EXPECT_EQ(result.operators["MatMul"], 0);
  }
}

// The outer stage of Operator 1: channels chosen by the tap that moves the image.
constexpr const char* kOperator1InStages = R"(operator operator-1-in-stages
input x[N, C_in, H, W]
region z[n: N, l: g, r: C_out/(g*s), b: kw, h: H, w: W] {
  reduce c: C_in/g
  split l, c -> i
  share i -> i_x, i_w
  read x[n, i_x, h, w]
  weight w1[i_w, b, r]
}
region y[n: N, o: C_out, h: H, w: W] {
  reduce l: g
  reduce a: kh
  reduce b: kw
  reduce r: C_out/(g*s)
  share l -> l_z, l_w
  share a -> a_z, a_w
  share b -> b_z, b_w
  share b_z -> b_channel, b_window
  share r -> r_z, r_w
  unfold h, a_z -> p
  unfold w, b_window -> q
  read z[n, l_z, r_z, b_channel, p, q]
  weight w2[o, l_w, a_w, b_w, r_w]
}
)";

TEST(OnnxFunctionPatterns, WritesChannelsThatMoveTheImageAsSlicesAndAConvolution) {
  for (const bool dynamic : {false, true}) {
    Realisation result = run(kOperator1InStages, {{"g", 2}, {"s", 2}}, dynamic);
    expect_agreement(result);
    EXPECT_EQ(result.operators["Conv"], 2);
    EXPECT_EQ(result.operators["MatMul"], 0);
  }
}

// Its inner stage with the window of the outer one: an output channel for each tap.
constexpr const char* kMovedOutputs = R"(operator moved-outputs
input x[N, C_in, H, W]
region z[n: N, l: g, b: kw, r: C_out/(g*s), h: H, w: W] {
  reduce c: C_in/g
  share b -> b_x, b_w
  split l, c -> i
  share i -> i_x, i_w
  unfold w, b_x -> q
  read x[n, i_x, h, q]
  weight w1[i_w, b_w, r]
}
map y = negate(z)
)";

TEST(OnnxFunctionPatterns, WritesAnOutputChannelForEachTapAsAMovedConvolution) {
  Realisation result = run(kMovedOutputs, {{"g", 2}, {"s", 2}});
  expect_agreement(result);
  EXPECT_EQ(result.operators["Conv"], 1);
  EXPECT_EQ(result.operators["Gather"], 0);
}

TEST(OnnxFunctionPatterns, WritesSynosOperatorsAsConvolutionsOnly) {
  for (const OperatorDefinition& definition : {syno_operator_1(), syno_operator_2()})
    for (const bool dynamic : {false, true})
      for (const int64_t opset : {9, 13}) {
        Realisation result = run(definition.text, {{"g", 2}, {"s", 2}}, dynamic, opset);
        expect_agreement(result);
        EXPECT_EQ(result.operators["Conv"], 2);
        EXPECT_EQ(result.operators["MatMul"], 0);
        // Dynamic extents are gathered from shapes, elements never.
        if (!dynamic) {
          EXPECT_EQ(result.operators["Gather"], 0);
        }
      }
}

TEST(OnnxFunctionPatterns, WritesAnyOtherContractionAsViewsAndMatrixProducts) {
  // Height and width exchanged.
  expect_agreement(run(R"(operator transposed
input x[N, C_in, H, W]
region y[n: N, o: C_out, w: W, h: H] {
  reduce c: C_in
  share c -> c_x, c_w
  read x[n, c_x, h, w]
  weight w1[o, c_w]
}
)",
                       {}));
  // A window along the diagonal.
  expect_agreement(run(R"(operator diagonal-window
input x[N, C_in, H, W]
region y[n: N, c: C_in, h: H, w: W] {
  reduce a: kh
  share a -> a_12, a_w
  share a_12 -> a_1, a_2
  share c -> c_x, c_w
  unfold h, a_1 -> p
  unfold w, a_2 -> q
  read x[n, c_x, p, q]
  weight w1[c_w, a_w]
}
)",
                       {}));
  // A sum over something that no tensor sees counts its extent.
  expect_agreement(run(R"(operator blind-sum
input x[N, C_in, H, W]
region y[n: N, c: C_in, h: H, w: W] {
  reduce a: kh
  expand a
  read x[n, c, h, w]
}
)",
                       {}));
}

TEST(OnnxFunctionPatterns, WritesDataTimesData) {
  expect_agreement(run(R"(operator involution
input x[N, C_in, H, W]
region kernel[n: N, l: g, a: kh, b: kw, h: H, w: W] {
  reduce c: C_in
  share c -> c_x, c_w
  read x[n, c_x, h, w]
  weight w1[l, a, b, c_w]
}
region y[n: N, o: C_in, h: H, w: W] {
  reduce a: kh
  reduce b: kw
  share n -> n_x, n_k
  share h -> h_x, h_k
  share w -> w_x, w_k
  share a -> a_x, a_k
  share b -> b_x, b_k
  share o -> o_x, o_k
  merge o_k by C_in/g -> l, rest
  expand rest
  unfold h_x, a_x -> p
  unfold w_x, b_x -> q
  read x[n_x, o_x, p, q]
  read kernel[n_k, l, a_k, b_k, h_k, w_k]
}
)",
                       {{"g", 2}}));
}

TEST(OnnxFunctionPatterns, WritesElementwiseWorkFoldsAndSoftmax) {
  for (const int64_t opset : {9, 13, 18})
    expect_agreement(run(R"(operator squeeze
input x[N, C_in, H, W]
fold mean = average(x) over 2, 3
region squeezed[n: N, r: C_in/s] {
  reduce c: C_in
  share c -> c_x, c_w
  read mean[n, c_x]
  weight w1[r, c_w]
}
map active = relu(squeezed)
normalize share_of_each = softmax(active) over 1
region excited[n: N, o: C_in] {
  reduce r: C_in/s
  share r -> r_x, r_w
  read share_of_each[n, r_x]
  weight w2[o, r_w]
}
map gate = sigmoid(excited)
region y[n: N, c: C_in, h: H, w: W] {
  share n -> n_x, n_g
  share c -> c_x, c_g
  read x[n_x, c_x, h, w]
  read gate[n_g, c_g]
}
)",
                         {{"s", 2}}, false, opset));
}

TEST(OnnxFunctionPatterns, RefusesWhatItCannotWrite) {
  // Gathering needs fixed extents.
  EXPECT_THROW(run(R"(operator transposed-shift
input x[N, C_in, H, W]
region y[n: N, c: C_in, w: W, h: H] {
  shift h by 1 -> p
  read x[n, c, p, w]
}
)",
                   {}, true),
               Unsupported);
  Candidate candidate;
  EXPECT_THROW(onnx_function(candidate, convolution(4, 4, 4), 8, "f", false), Unsupported);
}

}  // namespace
}  // namespace opsmith::substitute
