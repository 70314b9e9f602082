#pragma once

#include "runtime/expression/program.h"

namespace opsmith::substitute {

/// Reorders the axes of intermediate tensors that factoring made, so that they lie like images:
/// the batch first, then what numbers channels, then height and width (whatever stands alone at
/// the last two dimensions of the tensor that the stage reads). Reads follow. Changes no value;
/// stages that read no tensor of at least four dimensions stay as they are. `typical` binds the
/// open symbols and decides which of the iterators of w + b - 1 is the width: the longer one.
expression::Program order_intermediates(const expression::Program& program,
                                        const expression::Binding& typical);

}  // namespace opsmith::substitute
