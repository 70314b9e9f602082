#include "search/synthesis/canvas/sampler.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "search/synthesis/canvas/designs.h"
#include "search/synthesis/canvas/identity.h"
#include "search/synthesis/canvas/pruning.h"
#include "search/synthesis/canvas/shape_matching.h"
#include "support/error.h"
#include "support/parallel.h"
#include "support/progress.h"
#include "support/timing.h"

namespace opsmith::synthesis::canvas {

Grower::Grower(Targets& targets, const KernelLimits& limits, Random& random)
    : targets_(targets), limits_(limits), random_(random), pruned_(pruning_rules().size(), 0) {}

bool Grower::grow(Kernel& kernel) {
  const auto primitives =
      static_cast<int>(random_.integer(limits_.least_primitives, limits_.most_primitives));
  for (int remaining = primitives; remaining-- > 0;) {
    std::array<Primitive, primitive_types> types;
    for (int i = 0; i < primitive_types; ++i)
      types[static_cast<size_t>(i)] = static_cast<Primitive>(i);
    if (counts_ != nullptr) {
      std::vector<size_t> possible;
      Step unused;
      for (const Primitive type : types)
        if (find(kernel, type, remaining, unused)) possible.push_back(static_cast<size_t>(type));
      for (const size_t type : possible)
        counts_->expected[type] += 1 / static_cast<double>(possible.size());
    }
    // The first that can be taken of types in random order: even among those that can.
    bool taken = false;
    for (int left = primitive_types; left > 0 && !taken; --left) {
      std::swap(types[static_cast<size_t>(random_.integer(0, left - 1))],
                types[static_cast<size_t>(left) - 1]);
      taken = take(kernel, types[static_cast<size_t>(left) - 1], remaining);
    }
    if (!taken) return false;
  }
  return close(targets_, limits_, kernel);
}

bool Grower::take(Kernel& kernel, Primitive primitive, int remaining) {
  Step step;
  if (!find(kernel, primitive, remaining, step)) return false;
  kernel.append(step);
  if (counts_ != nullptr) ++counts_->taken[static_cast<size_t>(primitive)];
  return true;
}

bool Grower::find(const Kernel& kernel, Primitive primitive, int remaining, Step& found) {
  std::vector<Step> steps = choices(kernel, primitive);
  for (auto left = static_cast<int64_t>(steps.size()); left > 0; --left) {
    const auto chosen = static_cast<size_t>(random_.integer(0, left - 1));
    Step step = steps[chosen];
    steps[chosen] = steps[static_cast<size_t>(left) - 1];
    if (const int rule = forbidding_rule(kernel, step); rule >= 0) {
      ++pruned_[static_cast<size_t>(rule)];
      continue;
    }
    if (!complete_step(kernel, step, remaining)) continue;
    found = step;
    return true;
  }
  return false;
}

bool Grower::complete_step(const Kernel& kernel, Step& step, int remaining) {
  if (step.primitive != Primitive::Broadcast)
    return is_legal(targets_, limits_, kernel, step, remaining);
  std::vector<Match> matches = match_shapes(targets_, kernel.node(step.operands[0]).shape,
                                            kernel.node(step.operands[1]).shape);
  while (!matches.empty()) {
    const auto chosen =
        static_cast<size_t>(random_.integer(0, static_cast<int64_t>(matches.size()) - 1));
    step.substituted = static_cast<int8_t>(matches[chosen].variable);
    step.substitution = matches[chosen].by;
    if (is_legal(targets_, limits_, kernel, step, remaining)) return true;
    matches.erase(matches.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return false;
}

namespace {

/// Trials of a thread whose types are counted.
constexpr int64_t counted_trials = 300;

/// The kernels seen by all threads.
class Distinct {
 public:
  bool insert(uint64_t hash) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return seen_.insert(hash).second;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<uint64_t> seen_;
};

class Worker {
 public:
  Worker(const std::vector<substitute::LayerShape>& layers, const KernelLimits& limits,
         const SamplingOptions& options, uint64_t seed, Distinct& distinct)
      : limits_(limits), options_(options), random_(seed), distinct_(distinct) {
    for (const int64_t groups : Targets::group_choices(layers))
      targets_.push_back(std::make_unique<Targets>(layers, groups));
    if (targets_.empty()) targets_.push_back(std::make_unique<Targets>(layers, 1));
    for (const auto& targets : targets_) growers_.emplace_back(*targets, limits_, random_);
    result.designs.assign(known_designs().size(), 0);
    result.pruned.assign(pruning_rules().size(), 0);
  }

  void trial() {
    const auto which =
        static_cast<size_t>(random_.integer(0, static_cast<int64_t>(targets_.size()) - 1));
    Targets& targets = *targets_[which];
    Grower& grower = growers_[which];
    grower.count_types(result.trials < counted_trials ? &result.types : nullptr);
    ++result.trials;
    Kernel kernel;
    if (!grower.grow(kernel)) {
      ++result.dead_ends;
      return;
    }
    const uint64_t hash = identity(kernel, targets.groups());
    Solution solution;
    if (!solve(targets, limits_, kernel, solution)) {
      ++result.unsolved;
      return;
    }
    if (!distinct_.insert(hash)) {
      ++result.repeated;
      return;
    }
    ++result.distinct;
    for (int i = 1; i < kernel.size(); ++i)
      ++result.in_kernels[static_cast<size_t>(kernel.node(i).step.primitive)];
    for (size_t i = 0; i < known_designs().size(); ++i)
      result.designs[i] += known_designs()[i].found_in(kernel) ? 1 : 0;
    if (static_cast<int64_t>(result.samples.size()) < options_.most_kept)
      result.samples.push_back({std::move(kernel), targets.groups(), std::move(solution), hash});
  }

  void finish() {
    for (const Grower& grower : growers_)
      for (size_t i = 0; i < result.pruned.size(); ++i) result.pruned[i] += grower.pruned()[i];
  }

  SamplingResult result;

 private:
  const KernelLimits& limits_;
  const SamplingOptions& options_;
  Random random_;
  Distinct& distinct_;
  std::vector<std::unique_ptr<Targets>> targets_;
  std::vector<Grower> growers_;
};

void add(SamplingResult& total, SamplingResult& part) {
  for (Sample& sample : part.samples) total.samples.push_back(std::move(sample));
  total.distinct += part.distinct;
  total.trials += part.trials;
  total.dead_ends += part.dead_ends;
  total.unsolved += part.unsolved;
  total.repeated += part.repeated;
  for (size_t i = 0; i < primitive_types; ++i) {
    total.types.taken[i] += part.types.taken[i];
    total.types.expected[i] += part.types.expected[i];
    total.in_kernels[i] += part.in_kernels[i];
  }
  total.pruned.resize(part.pruned.size());
  total.designs.resize(part.designs.size());
  for (size_t i = 0; i < part.pruned.size(); ++i) total.pruned[i] += part.pruned[i];
  for (size_t i = 0; i < part.designs.size(); ++i) total.designs[i] += part.designs[i];
}

}  // namespace

SamplingResult sample(const std::vector<substitute::LayerShape>& layers, const KernelLimits& limits,
                      const SamplingOptions& options) {
  if (limits.least_primitives > limits.most_primitives || limits.most_primitives > 100)
    throw UserError("kernels have between 1 and 100 primitives, the least number first; not " +
                    std::to_string(limits.least_primitives) + " to " +
                    std::to_string(limits.most_primitives));
  Distinct distinct;
  SamplingResult total;
  std::mutex mutex;
  const Stopwatch watch;
  std::atomic<int64_t> found{0};
  parallel_for(options.threads, options.threads, [&](int64_t thread) {
    Worker worker(layers, limits, options, options.seed * 1000003 + static_cast<uint64_t>(thread),
                  distinct);
    while (!interrupted() && found < options.kernels && watch.seconds() < options.seconds) {
      const int64_t before = worker.result.distinct;
      worker.trial();
      found += worker.result.distinct - before;
    }
    worker.finish();
    const std::lock_guard<std::mutex> lock(mutex);
    add(total, worker.result);
  });
  total.seconds = watch.seconds();
  return total;
}

}  // namespace opsmith::synthesis::canvas
