#pragma once

#include <vector>

#include "runtime/compiler/loader/kernel_object.h"
#include "runtime/schedule/layout.h"

namespace opsmith::compiler {

/// The parts of memory that make up a layout's halo, each byte once. `argument` and
/// `base` (bytes) say where the tensor lies.
std::vector<KernelObject::ZeroFill> halo_fills(const schedule::Layout& layout, const Shape& shape,
                                               int64_t element_bytes, int64_t argument,
                                               int64_t base);

}  // namespace opsmith::compiler
