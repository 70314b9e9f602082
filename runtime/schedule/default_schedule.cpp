#include "runtime/schedule/rule_knobs.h"
#include "runtime/schedule/stage_analysis.h"
#include "runtime/schedule/stage_rule.h"

namespace opsmith::schedule {

Schedule default_schedule(const expression::Program& program,
                          const std::map<std::string, Layout>& layouts, const Target& target) {
  return default_schedule(program, layouts, target, RuleKnobs{});
}

Schedule default_schedule(const expression::Program& program,
                          const std::map<std::string, Layout>& layouts, const Target& target,
                          const RuleKnobs& knobs) {
  Schedule schedule;
  for (const expression::Stage& stage : program.stages) {
    const StageAnalysis analysis(program, stage, layouts);
    StageRule(analysis, target, schedule, knobs).write();
  }
  return schedule;
}

std::map<std::string, Layout> preferred_weight_layouts(
    const expression::Program& program, const std::map<std::string, Layout>& data_layouts,
    const Target& target) {
  return preferred_weight_layouts(program, data_layouts, target, RuleKnobs{});
}

std::map<std::string, Layout> preferred_weight_layouts(
    const expression::Program& program, const std::map<std::string, Layout>& data_layouts,
    const Target& target, const RuleKnobs& knobs) {
  std::map<std::string, Layout> layouts;
  for (const expression::TensorDeclaration& weight : program.weights) {
    layouts[weight.name] = Layout::row_major(weight.shape.size());
  }
  for (const expression::Stage& stage : program.stages) {
    StageAnalysis analysis(program, stage, data_layouts);
    if (stage.reduction == expression::Reduction::None) continue;
    for (const expression::TensorDeclaration& weight : program.weights) {
      if (weight.shape.size() > 1) analysis.mark_packable(weight.name);
    }
    Schedule unused;
    StageRule rule(analysis, target, unused, knobs);
    rule.write();
    for (const StageAnalysis::Access& access : analysis.accesses()) {
      if (access.packable) layouts[access.tensor] = rule.packed(access);
    }
  }
  return layouts;
}

}  // namespace opsmith::schedule
