#include "runtime/executor/describe_choice.h"

namespace opsmith::executor {
namespace {

using expression::Stage;

/// From the canonical names of a stage's axes to those that the operation gave them.
void add_names(const Stage& canonical, const Stage& original,
               std::map<std::string, std::string>& names) {
  for (size_t i = 0; i < original.axes.size(); ++i) {
    names[canonical.axes[i].name] = original.axes[i].name;
  }
  for (size_t i = 0; i < original.reduction_axes.size(); ++i) {
    names[canonical.reduction_axes[i].name] = original.reduction_axes[i].name;
  }
}

}  // namespace

std::string describe_choice(const schedule::KernelChoice& choice,
                            const expression::Program& original) {
  const expression::Program& program = choice.variant.program;
  const bool direct = program.stages.size() == original.stages.size();
  std::string products;  // the stage that is shown where there are others
  for (const Stage& stage : program.stages) {
    if (stage.reduction == expression::Reduction::Sum) products = stage.name;
  }
  std::map<std::string, std::map<std::string, std::string>> names;
  for (size_t s = 0; direct && s < program.stages.size(); ++s) {
    add_names(program.stages[s], original.stages[s], names[program.stages[s].name]);
  }
  std::string text = choice.variant.name;
  for (const schedule::Directive& directive : choice.schedule.schedule.directives) {
    if (directive.kind != "split" || (!direct && directive.stage != products)) continue;
    // The names of split and fused axes begin with that of the first axis.
    std::string axis = directive.axes.at(0);
    const std::string base = axis.substr(0, axis.find_first_of(".*"));
    const auto& own = names[directive.stage];
    if (const auto name = own.find(base); name != own.end()) {
      axis = name->second + axis.substr(base.size());
    }
    text += " " + axis + ":" + std::to_string(directive.factor);
  }
  return choice.measured ? text + " (tuned)" : text;
}

}  // namespace opsmith::executor
