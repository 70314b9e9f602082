#include "substitute/operator/drawing.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "substitute/operator/catalogue/catalogue.h"
#include "support/file.h"
#include "tests/support/temporary_folder.h"

namespace opsmith::substitute {
namespace {

/// Every tensor, every primitive and every weight is drawn, and Graphviz, where it is installed,
/// reads the result.
TEST(Drawing, ShowsAllOfAnOperator) {
  const bool graphviz = std::system("dot -V > /dev/null 2>&1") == 0;
  const opsmith::testing::TemporaryFolder folder;
  for (const OperatorDefinition& definition : all_operators()) {
    const ValueGraph graph = parse_operator(definition.text);
    const std::string drawing = draw(graph);
    EXPECT_EQ(drawing.rfind("digraph", 0), 0u);
    for (const std::string& weight : graph.weights())
      EXPECT_NE(drawing.find("\"" + weight + "\" ["), std::string::npos) << drawing;
    for (const ValueNode& node : graph.nodes) {
      EXPECT_NE(drawing.find("\"" + node.name + "\" ["), std::string::npos) << drawing;
      if (const auto* region = std::get_if<Region>(&node.operation)) {
        for (size_t i = 0; i < region->primitives().size(); ++i)
          EXPECT_NE(drawing.find("\"" + node.name + "/" + std::to_string(i) + "\" [label=\"" +
                                 verb(region->primitives()[i])),
                    std::string::npos);
      }
    }
    if (!graphviz) continue;
    write_file(folder / "operator.dot", drawing);
    EXPECT_EQ(std::system(("dot -Tsvg -o /dev/null " + (folder / "operator.dot")).c_str()), 0);
  }
}

}  // namespace
}  // namespace opsmith::substitute
