// Which operators of ONNX's domain can be run at all.
#include <gtest/gtest.h>

#include <set>

#include "graph/operators/versions.h"
#include "runtime/executor/control_flow.h"
#include "runtime/kernels/lowering.h"

namespace opsmith {
namespace {

TEST(Coverage, EveryOperatorUpTo22HasAKernelButTheImageDecoder) {
  std::set<std::string> open;
  for (const std::string& type : graph::onnx_operators()) {
    graph::Node node;
    node.type = type;
    if (kernels::find_kernel("", type) == nullptr && !executor::is_control_flow(node)) {
      open.insert(type);
    }
  }
  EXPECT_EQ(open, std::set<std::string>{"ImageDecoder"});
}

TEST(Coverage, NoKernelIsForAnUnknownOperator) {
  std::set<std::string> known;
  for (const std::string& type : graph::onnx_operators()) known.insert(type);
  for (const std::string& type : kernels::supported_operators()) {
    EXPECT_TRUE(known.contains(type)) << type;
  }
}

TEST(Coverage, OlderNodesKeepTheirMeaningUntilTheOperatorChanges) {
  EXPECT_TRUE(graph::same_meaning("Abs", 6, 13));
  EXPECT_TRUE(graph::same_meaning("Softmax", 11, 12));
  EXPECT_FALSE(graph::same_meaning("Softmax", 12, 13));
  EXPECT_FALSE(graph::same_meaning("ReduceMean", 13, 18));
  EXPECT_FALSE(graph::same_meaning("Abs", 13, 12));
  EXPECT_TRUE(graph::same_meaning("NotAnOperator", 1, 22));
}

}  // namespace
}  // namespace opsmith
