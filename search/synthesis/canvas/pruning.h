#pragma once

#include <string>
#include <vector>

#include "search/synthesis/canvas/kernel.h"

namespace opsmith::synthesis::canvas {

/// A reason not to take a step: an equal kernel of no more primitives remains, or what it would add
/// does nothing. To add one, write the test and a line in the table.
struct PruningRule {
  std::string name;
  std::string reason;
  bool (*forbids)(const Kernel& kernel, const Step& step) = nullptr;
};

const std::vector<PruningRule>& pruning_rules();

/// Number of the first rule that forbids the step, -1 when none does.
int forbidding_rule(const Kernel& kernel, const Step& step);

}  // namespace opsmith::synthesis::canvas
