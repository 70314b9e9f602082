#pragma once

#include <functional>
#include <memory>

#include "runtime/schedule/choice.h"
#include "runtime/schedule/kernel_provider.h"
#include "support/tensor.h"

namespace opsmith::search {

/// Runs kernels of one problem by themselves as they run inside a model: inputs and outputs are
/// warm, weights come from memory, because between two runs of a layer the others' weights pass
/// through the caches.
class KernelBench {
 public:
  KernelBench(const schedule::KernelProblem& problem,
              std::shared_ptr<schedule::KernelProvider> provider, schedule::Target target);

  /// Runs the kernel once, each time with other weights. Throws UserError where the schedule does
  /// not fit. Lives no longer than the bench.
  std::function<void()> runnable(const schedule::KernelChoice& choice);

 private:
  const Tensor& data(const std::string& tensor, int64_t bytes);

  const schedule::KernelProblem& problem_;
  std::shared_ptr<schedule::KernelProvider> provider_;
  schedule::Target target_;
  std::map<std::string, Tensor> data_;
  Tensor weights_;  ///< a pool larger than the caches
};

}  // namespace opsmith::search
