// Any text as a synthesized operator: parsing refuses or gives a valid one, whose printed form
// reads back the same.

#include "substitute/operator/value_graph.h"
#include "tests/fuzz/target.h"

using namespace opsmith;  // NOLINT: one target, one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  substitute::ValueGraph graph;
  if (!fuzz::accepts([&] { graph = substitute::parse_operator(text); })) return 0;
  const std::string printed = substitute::print(graph);
  if (substitute::print(substitute::parse_operator(printed)) != printed) {
    fuzz::broken("this operator prints otherwise the second time:\n" + printed);
  }
  return 0;
}
