#include "search/tuning/tune.h"

#include <algorithm>

#include "search/tuning/kernel_search.h"
#include "support/error.h"
#include "support/progress.h"

namespace opsmith::search {
namespace {

using executor::StepProfile;

/// A distinct kernel with the time that it takes of the whole model.
struct Kernel {
  std::shared_ptr<const schedule::KernelProblem> problem;
  TunedKernel result;
  double milliseconds = 0;
};

std::vector<Kernel> distinct_kernels(const std::vector<StepProfile>& steps,
                                     const schedule::Target& target) {
  std::vector<Kernel> kernels;
  std::map<std::string, size_t> known;
  for (const StepProfile& step : steps) {
    if (!step.problem) continue;
    const schedule::ScheduleKey key =
        schedule::kernel_key(step.problem->program, step.problem->layouts, target);
    const auto [entry, fresh] =
        known.try_emplace(key.kernel_class + key.parameters + key.layouts, kernels.size());
    if (fresh) {
      Kernel kernel;
      kernel.problem = step.problem;
      kernel.result.node = step.node;
      kernel.result.multiply_accumulates = step.multiply_accumulates;
      kernels.push_back(std::move(kernel));
    }
    ++kernels[entry->second].result.uses;
    kernels[entry->second].milliseconds += step.milliseconds;
  }
  std::stable_sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) {
    return a.milliseconds > b.milliseconds;
  });
  return kernels;
}

std::string percent(double ratio) { return std::to_string(static_cast<int>(ratio * 100)) + " %"; }

}  // namespace

std::vector<TunedKernel> tune(const graph::Model& model,
                              const std::map<std::string, Tensor>& inputs,
                              const std::shared_ptr<schedule::KernelProvider>& provider,
                              schedule::ScheduleDatabase& database, const TuneOptions& options) {
  const Stopwatch watch;
  const schedule::Target target =
      schedule::detect_target(options.session.target, options.session.threads);
  std::vector<Kernel> kernels;
  {
    const executor::Session session(model, provider, options.session);
    session.run(inputs);
    kernels = distinct_kernels(session.profile(inputs), target);
  }
  if (kernels.empty()) throw NothingMeasured("the model has no compiled kernels");
  double left = 0;
  for (const Kernel& kernel : kernels) left += kernel.milliseconds;

  Progress progress("tuning kernels", static_cast<int64_t>(kernels.size()));
  const schedule::ChoiceRules rules{options.session.exact, options.session.low_memory, nullptr};
  std::vector<TunedKernel> results;
  for (Kernel& kernel : kernels) {
    // A share of the time that is left like the kernel's of the model.
    const double seconds = (options.seconds - watch.seconds()) * kernel.milliseconds / left;
    left -= kernel.milliseconds;
    if (interrupted() || seconds <= 0) break;
    KernelSearch search(*kernel.problem, provider, database, target, rules, options.seed);
    search.run(seconds);
    search.confirm();
    TunedKernel& result = kernel.result;
    result.variant_before = search.rule_variant();
    result.variant_after = search.best_variant();
    result.seconds_before = search.rule_seconds();
    result.seconds_after = search.best_seconds();
    result.measured = search.measured();
    progress.advance(result.node + ": " + percent(result.seconds_after / result.seconds_before) +
                     " of the rule's time");
    results.push_back(result);
  }
  return results;
}

}  // namespace opsmith::search
