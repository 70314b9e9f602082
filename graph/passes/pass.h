#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/evaluator.h"
#include "graph/graph.h"

namespace opsmith::graph {

struct PassContext {
  const Evaluator* evaluator = nullptr;  ///< nullptr: passes that need it do nothing
};

/// A rewrite of the whole model that keeps its meaning. Each pass is one file and one line in
/// the registry (passes/registry.cpp).
struct Pass {
  std::string name;
  std::string summary;
  std::function<int(Model&, const PassContext&)> run;  ///< returns how many places it changed
};

const std::vector<Pass>& all_passes();

struct PassCount {
  std::string name;
  int changes = 0;
};

/// Runs all passes in registry order until nothing changes; then infers shapes again. Returns the
/// counts of what each did.
std::vector<PassCount> simplify(Model& model, const PassContext& context);

}  // namespace opsmith::graph
