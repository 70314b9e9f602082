#include "runtime/executor/functions.h"

#include <algorithm>
#include <set>

#include "graph/function.h"

namespace opsmith::executor {

void inline_functions_without_program(graph::Model& model) {
  std::set<std::string> kept;
  for (const graph::Node& node : model.graph.nodes) {
    if (node.domain == "opsmith" && node.attributes.contains("program")) kept.insert(node.type);
  }
  std::erase_if(model.functions, [&](const graph::Function& function) {
    return function.domain == "opsmith" && kept.contains(function.name);
  });
  if (!model.functions.empty()) graph::inline_functions(model);
}

}  // namespace opsmith::executor
