#include <gtest/gtest.h>

#include "graph/shape_inference.h"
#include "runtime/executor/fusion/elementwise.h"
#include "runtime/executor/lower_graph.h"
#include "tests/runtime/executor/models.h"

namespace opsmith {
namespace {

using graph::ValueId;
using testing::ModelMaker;

/// Operations left after fusion.
size_t operations_of(graph::Model model) {
  graph::infer_shapes(model);
  executor::OperationList list = executor::lower_graph(model);
  size_t before = list.operations.size();
  size_t fused = static_cast<size_t>(executor::fuse_elementwise(list));
  EXPECT_TRUE(fused == 0 || list.operations.size() < before);
  return list.operations.size();
}

TEST(Fusion, ResidualAdditionAndActivationJoinTheConvolution) {
  ModelMaker m({1, 8, 5, 5});
  ValueId conv = m.convolution(m.x, 8, 8, 3);
  graph::Model model = m.finish({m.node("Relu", {m.node("Add", {conv, m.x})})});
  EXPECT_EQ(operations_of(model), 1u);
}

TEST(Fusion, AValueReadTwiceInsideTheRegionIsTakenWhole) {
  ModelMaker m({1, 8, 5, 5});
  ValueId conv = m.convolution(m.x, 8, 8, 3);
  graph::Model model = m.finish({m.node("Mul", {conv, m.node("Sigmoid", {conv})})});
  EXPECT_EQ(operations_of(model), 1u);
}

TEST(Fusion, AReaderOutsideKeepsTheValue) {
  ModelMaker m({1, 8, 5, 5});
  ValueId conv = m.convolution(m.x, 8, 8, 3);
  ValueId relu = m.node("Relu", {conv});
  graph::Model model = m.finish({relu, m.convolution(conv, 8, 8, 1)});
  EXPECT_EQ(operations_of(model), 3u);
}

TEST(Fusion, AGraphOutputStays) {
  ModelMaker m({1, 8, 5, 5});
  ValueId conv = m.convolution(m.x, 8, 8, 3);
  graph::Model model = m.finish({m.node("Relu", {conv}), conv});
  EXPECT_EQ(operations_of(model), 2u);
}

TEST(Fusion, ABroadcastToALargerShapeDoesNotJoin) {
  ModelMaker m({1, 8, 1, 1});
  ValueId small = m.node("Exp", {m.x});
  graph::Model model = m.finish({m.node("Mul", {small, m.weight({1, 8, 4, 4})})});
  EXPECT_EQ(operations_of(model), 2u);
}

TEST(Fusion, AReductionBehindAnElementwiseOperationDoesNotJoin) {
  ModelMaker m({1, 8, 5, 5});
  graph::Model model = m.finish({m.node("GlobalAveragePool", {m.node("Relu", {m.x})})});
  EXPECT_EQ(operations_of(model), 2u);
}

}  // namespace
}  // namespace opsmith
