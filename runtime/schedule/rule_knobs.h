#pragma once

#include "runtime/schedule/schedule.h"

namespace opsmith::schedule {

/// What a tuner may set in the rule-based schedule of a program's stages with reductions; zero
/// leaves it to the rules.
struct RuleKnobs {
  int64_t columns = 0;          ///< points of the register tile along its inner axis
  int64_t vectors = 0;          ///< vectors of outputs of the register tile
  int64_t body = 0;             ///< multiply-adds in one unrolled loop body
  int64_t reduction_block = 0;  ///< of the longest reduction axis, and so of packed weights
};

Schedule default_schedule(const expression::Program& program,
                          const std::map<std::string, Layout>& layouts, const Target& target,
                          const RuleKnobs& knobs);
std::map<std::string, Layout> preferred_weight_layouts(
    const expression::Program& program, const std::map<std::string, Layout>& data_layouts,
    const Target& target, const RuleKnobs& knobs);

}  // namespace opsmith::schedule
