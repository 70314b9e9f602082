#include "runtime/schedule/choice.h"

#include <algorithm>

#include "runtime/schedule/variants/variant_cost.h"
#include "support/error.h"

namespace opsmith::schedule {
namespace {

/// The fastest of the allowed variants by model, with its rule-based schedule.
KernelChoice choose_by_rule(const expression::Program& defining,
                            const std::map<std::string, Layout>& data_layouts, const Target& target,
                            const ChoiceRules& rules) {
  KernelChoice best;
  double least = -1;
  for (const std::string& name : variant_names(defining)) {
    std::optional<Variant> variant = make_variant(defining, name);
    if (!variant || !allows(rules, *variant, data_layouts)) continue;
    const double cycles = variant_cycles(defining, *variant, target);
    if (least >= 0 && cycles >= least) continue;
    least = cycles;
    best.variant = std::move(*variant);
  }
  best.schedule = default_variant_schedule(best.variant, data_layouts, target);
  return best;
}

bool fits(const expression::Program& program, const std::string& weight, const Layout& layout) {
  const auto pieces = std::count_if(layout.order.begin(), layout.order.end(),
                                    [](const auto& piece) { return piece.block == 0; });
  return std::any_of(program.weights.begin(), program.weights.end(), [&](const auto& declared) {
    return declared.name == weight && declared.shape.size() == static_cast<size_t>(pieces);
  });
}

}  // namespace

bool allows(const ChoiceRules& rules, const Variant& variant,
            const std::map<std::string, Layout>& data_layouts) {
  if (variant.prepared.empty()) return true;
  return !rules.exact && !rules.low_memory &&
         std::none_of(variant.prepared.begin(), variant.prepared.end(), [&](const auto& prepared) {
           return data_layouts.contains(prepared.original);
         });
}

KernelSpecification KernelChoice::specification(const std::map<std::string, Layout>& data_layouts,
                                                const Target& target) const {
  KernelSpecification result;
  result.program = variant.program;
  result.target = target;
  result.schedule = schedule.schedule;
  result.layouts = data_layouts;
  for (const auto& [weight, layout] : schedule.weights) {
    if (!layout.is_row_major()) result.layouts.try_emplace(weight, layout);
  }
  return result;
}

ScheduleKey kernel_key(const expression::Program& defining,
                       const std::map<std::string, Layout>& data_layouts, const Target& target) {
  KernelSpecification specification;
  specification.program = defining;
  specification.layouts = data_layouts;
  specification.target = target;
  return schedule_key(specification);
}

Schedule joined(const VariantSchedule& schedule) {
  Schedule result = schedule.schedule;
  for (const auto& [weight, layout] : schedule.weights) {
    if (!layout.is_row_major()) {
      result.directives.push_back({"pack", "", {weight}, 0, to_string(layout)});
    }
  }
  return result;
}

VariantSchedule parted(const Schedule& schedule) {
  VariantSchedule result;
  for (const Directive& directive : schedule.directives) {
    if (directive.kind != "pack" || !directive.stage.empty()) {
      result.schedule.directives.push_back(directive);
      continue;
    }
    if (directive.axes.size() != 1) throw UserError("pack of a weight needs its name");
    result.weights[directive.axes[0]] = parse_layout(directive.argument);
  }
  return result;
}

KernelChoice choose_kernel(const expression::Program& defining,
                           const std::map<std::string, Layout>& data_layouts, const Target& target,
                           const ChoiceRules& rules) {
  if (rules.library != nullptr) {
    KernelChoice choice;
    const auto accepts = [&](const ScheduleRow& row) {
      auto variant = make_variant(defining, row.variant);
      if (!variant || !allows(rules, *variant, data_layouts)) return false;
      choice.variant = std::move(*variant);
      try {
        choice.schedule = parted(row.schedule);
      } catch (const UserError& error) {
        rules.library->warn_unfit("a kernel", error.what());
        return false;
      }
      for (const auto& [weight, layout] : choice.schedule.weights) {
        if (!fits(choice.variant.program, weight, layout) || data_layouts.contains(weight)) {
          rules.library->warn_unfit("a kernel", "the layout of weight '" + weight + "'");
          return false;
        }
      }
      return true;
    };
    if (rules.library->best(kernel_key(defining, data_layouts, target), accepts)) {
      choice.measured = true;
      return choice;
    }
  }
  return choose_by_rule(defining, data_layouts, target, rules);
}

}  // namespace opsmith::schedule
