#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/schedule/schedule.h"

namespace opsmith::schedule {

/// Another program for what a kernel's defining program computes (its kernel class). "direct" is
/// the defining program itself.
struct Variant {
  /// A weight that is computed ahead of time from one of the defining program, by a program with
  /// that weight and one output.
  struct Prepared {
    std::string weight;    ///< in `program`
    std::string original;  ///< in the defining program
    expression::Program preparation;
  };

  std::string name;
  expression::Program program;  ///< inputs and outputs as in the defining program
  std::vector<Prepared> prepared;
};

/// The variants that fit this program (whose sizes are bound), "direct" first.
std::vector<std::string> variant_names(const expression::Program& defining);
/// nullopt when there is no such variant of this program.
std::optional<Variant> make_variant(const expression::Program& defining, const std::string& name);

/// How far the variants that fit read beyond an input of the defining program: the halo in which
/// none of them needs tests. Empty where no variant reads farther than the program itself.
std::vector<Layout::Halo> variant_reach(const expression::Program& defining,
                                        const std::string& input);

/// A schedule for a variant with the layouts in which it wants its weights.
struct VariantSchedule {
  Schedule schedule;
  std::map<std::string, Layout> weights;
};
/// The rule-based one. `data_layouts` are those of inputs and outputs.
VariantSchedule default_variant_schedule(const Variant& variant,
                                         const std::map<std::string, Layout>& data_layouts,
                                         const Target& target);
/// How the weight that `preparation` computes is computed in this layout.
KernelSpecification preparation_kernel(const expression::Program& preparation, const Layout& layout,
                                       const Target& target);

}  // namespace opsmith::schedule
