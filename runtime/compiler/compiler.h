#pragma once

#include <memory>
#include <string>

#include "runtime/schedule/kernel_provider.h"

namespace opsmith::compiler {

/// Lowers, schedules and compiles one kernel with LLVM. Throws InternalError or, for a directive
/// that does not fit, UserError that names it and why.
KernelObject compile(const schedule::KernelSpecification& specification);

/// A provider that compiles what is in neither its memory nor the object cache on disk.
/// `cache_folder` empty: the default ($XDG_CACHE_HOME/opsmith/objects); "none": no disk cache.
std::shared_ptr<schedule::KernelProvider> make_compiler(const std::string& cache_folder = "");

}  // namespace opsmith::compiler
