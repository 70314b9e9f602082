#pragma once

#include <string>

#include "runtime/schedule/target.h"

namespace llvm {
class Module;
}

namespace opsmith::compiler {

/// Optimises a module for a target and makes a relocatable object of it. Safe to call from several
/// threads on modules of different contexts. Throws InternalError.
std::string emit_object(llvm::Module& module, const schedule::Target& target);

/// Tells machines and LLVM versions apart in cache keys.
std::string code_generator_version();

}  // namespace opsmith::compiler
