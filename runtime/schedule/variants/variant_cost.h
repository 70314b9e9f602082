#pragma once

#include "runtime/schedule/variants/variant.h"

namespace opsmith::schedule {

/// Modelled machine cycles of a variant under its rule-based schedule, weights coming from memory
/// (a model's weights rarely stay in a cache from run to run). For comparing variants of one
/// kernel; docs/schedules.md says what it rests on.
double variant_cycles(const expression::Program& defining, const Variant& variant,
                      const Target& target);

}  // namespace opsmith::schedule
