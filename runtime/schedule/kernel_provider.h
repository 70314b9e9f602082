#pragma once

#include <memory>

#include "runtime/compiler/loader/kernel_object.h"
#include "runtime/schedule/schedule.h"

namespace opsmith::schedule {

/// Turns a specification into a loaded kernel. The compiler implements it with LLVM and the
/// object cache; a deployment may serve from a cache alone. Thread-safe.
class KernelProvider {
 public:
  virtual ~KernelProvider() = default;
  virtual std::shared_ptr<const compiler::LoadedKernel> kernel(const KernelSpecification&) = 0;
};

}  // namespace opsmith::schedule
