#pragma once

#include "runtime/schedule/target.h"

namespace opsmith::compiler {

/// f32 operations per second of one core with vectors of this target: independent fused
/// multiply-adds in registers, two operations each and lane, timed now (about 0.2 s).
double measure_peak_flops(const schedule::Target& target);

}  // namespace opsmith::compiler
