#pragma once

#include <string>

#include "runtime/schedule/choice.h"

namespace opsmith::executor {

/// "direct o:32 w:14", "winograd4 t:14 o:32 c:16 (tuned)": the variant and how the stage with the
/// products is split, by the axis names of the operation's own program.
std::string describe_choice(const schedule::KernelChoice& choice,
                            const expression::Program& original);

}  // namespace opsmith::executor
