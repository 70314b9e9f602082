#include "runtime/schedule/schedule.h"
#include "runtime/schedule/stage_analysis.h"
#include "runtime/schedule/stage_rule.h"

namespace opsmith::schedule {

Schedule default_schedule(const expression::Program& program,
                          const std::map<std::string, Layout>& layouts, const Target& target) {
  Schedule schedule;
  for (const expression::Stage& stage : program.stages) {
    const StageAnalysis analysis(program, stage, layouts);
    StageRule(analysis, target, schedule).write();
  }
  return schedule;
}

std::map<std::string, Layout> preferred_weight_layouts(
    const expression::Program& program, const std::map<std::string, Layout>& data_layouts,
    const Target& target) {
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
    StageRule rule(analysis, target, unused);
    rule.write();
    for (const StageAnalysis::Access& access : analysis.accesses()) {
      if (access.packable) layouts[access.tensor] = rule.packed(access);
    }
  }
  return layouts;
}

}  // namespace opsmith::schedule
