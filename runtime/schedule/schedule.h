#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/expression/program.h"
#include "runtime/schedule/layout.h"
#include "runtime/schedule/target.h"

namespace opsmith::schedule {

/// One directive over one stage. Kinds and their fields (docs/schedules.md):
///   split      axis, factor, outer and inner names (the inner factor is kept for other sizes)
///   reorder    axes, outermost first
///   fuse       axes (two) into name
///   parallel   axis (the outermost; several are collapsed)
///   unroll     axis
///   vectorize  axis (innermost; its extent is the number of lanes)
///   tile       axes: register tile, fully unrolled, accumulators stay in registers
///   compute_at stage, axis
///   cache_write, pack (tensor), rfactor (axis)
struct Directive {
  std::string kind;
  std::string stage;
  std::vector<std::string> axes;
  int64_t factor = 0;
  std::string argument;  ///< tensor of pack, stage of compute_at, name of fuse
};

struct Schedule {
  std::vector<Directive> directives;
};

std::string to_json(const Schedule& schedule);
Schedule schedule_from_json(const std::string& text);  ///< throws UserError

/// All that decides the machine code of one kernel: hashed, it is the key of the object cache.
struct KernelSpecification {
  expression::Program program;            ///< every symbol bound
  std::map<std::string, Layout> layouts;  ///< of inputs, weights and outputs; row-major if absent
  Schedule schedule;
  Target target;

  std::string hash() const;
};

/// The rule-based schedule for a program under these layouts: never fails, good without tuning.
Schedule default_schedule(const expression::Program& program,
                          const std::map<std::string, Layout>& layouts, const Target& target);

/// The layout in which a constant weight is best packed for the default schedule, for each weight
/// of the program (row-major where packing would not help).
std::map<std::string, Layout> preferred_weight_layouts(
    const expression::Program& program, const std::map<std::string, Layout>& data_layouts,
    const Target& target);

}  // namespace opsmith::schedule
