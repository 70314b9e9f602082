#pragma once

#include "runtime/schedule/library.h"
#include "runtime/schedule/variants/variant.h"

namespace opsmith::schedule {

/// Noted with measurements: which rules and variants made the schedules.
inline constexpr const char* kScheduleVersion = "1";

/// What a kernel must compute, and on what.
struct KernelProblem {
  expression::Program program;  ///< defining, sizes bound, names canonical
  /// Of inputs, outputs and those weights whose layout is fixed; row-major if absent.
  std::map<std::string, Layout> layouts;
};

/// What may be chosen for a kernel.
struct ChoiceRules {
  bool exact = false;       ///< only the sums that the defining program has (no Winograd)
  bool low_memory = false;  ///< no weights larger than those of the model
  ScheduleLibrary* library = nullptr;
};

/// How a kernel is computed.
struct KernelChoice {
  Variant variant;
  VariantSchedule schedule;
  bool measured = false;  ///< from the library, not by rule

  /// What to compile: `data_layouts` are those of inputs and outputs.
  KernelSpecification specification(const std::map<std::string, Layout>& data_layouts,
                                    const Target& target) const;
};

/// Chooses program and schedule for a defining program whose sizes are bound and whose names are
/// canonical: the fastest measured ones; without any, by rule. `data_layouts` are of inputs,
/// outputs and those weights whose layout is fixed.
KernelChoice choose_kernel(const expression::Program& defining,
                           const std::map<std::string, Layout>& data_layouts, const Target& target,
                           const ChoiceRules& rules);

/// Whether the rules allow the variant, and the weights that it prepares may have any layout.
bool allows(const ChoiceRules& rules, const Variant& variant,
            const std::map<std::string, Layout>& data_layouts);

/// The key of a kernel's measurements: that of the defining program, whatever the variant.
ScheduleKey kernel_key(const expression::Program& defining,
                       const std::map<std::string, Layout>& data_layouts, const Target& target);

/// A variant's schedule as one list of directives: the layouts of packed weights become `pack`
/// directives without a stage. And back. Throws UserError when such a directive is malformed.
Schedule joined(const VariantSchedule& schedule);
VariantSchedule parted(const Schedule& schedule);

}  // namespace opsmith::schedule
