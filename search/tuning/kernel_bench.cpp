#include "search/tuning/kernel_bench.h"

#include <algorithm>

namespace opsmith::search {
namespace {

/// Twice the last-level cache of most machines.
constexpr int64_t kPoolBytes = int64_t{64} << 20;
constexpr int64_t kAlignment = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Small numbers of both signs, none denormal.
Tensor filled(int64_t bytes) {
  Tensor tensor(ElementType::Float32, {aligned(bytes) / 4});
  uint32_t state = 1;
  for (float& value : tensor.data<float>()) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(state >> 16) / 65536 - 0.5F;
  }
  return tensor;
}

}  // namespace

KernelBench::KernelBench(const schedule::KernelProblem& problem,
                         std::shared_ptr<schedule::KernelProvider> provider,
                         schedule::Target target)
    : problem_(problem), provider_(std::move(provider)), target_(std::move(target)) {}

const Tensor& KernelBench::data(const std::string& tensor, int64_t bytes) {
  Tensor& buffer = data_[tensor];
  if (static_cast<int64_t>(buffer.bytes()) < bytes) buffer = filled(bytes);
  return buffer;
}

std::function<void()> KernelBench::runnable(const schedule::KernelChoice& choice) {
  const auto kernel = provider_->kernel(choice.specification(problem_.layouts, target_));
  struct Run {
    std::shared_ptr<const compiler::LoadedKernel> kernel;
    std::vector<void*> arguments;
    std::vector<std::pair<size_t, int64_t>> weights;  ///< argument, offset in a set of weights
    int64_t bytes_of_set = 0, sets = 1, next = 0;
    char* pool = nullptr;
    Tensor workspace;
  };
  auto run = std::make_shared<Run>();
  run->kernel = kernel;
  const auto& declared = choice.variant.program.weights;
  for (const auto& argument : kernel->arguments()) {
    const bool weight = std::any_of(declared.begin(), declared.end(),
                                    [&](const auto& one) { return one.name == argument.name; });
    if (weight) {
      run->weights.emplace_back(run->arguments.size(), run->bytes_of_set);
      run->arguments.push_back(nullptr);
      run->bytes_of_set += aligned(argument.bytes);
    } else {
      run->arguments.push_back(const_cast<void*>(data(argument.name, argument.bytes).raw()));
    }
  }
  // A larger pool is kept by those who run in the smaller one no longer.
  // Twice at least, so that no run finds what the last one has left in the caches.
  const int64_t pool_bytes = std::max(kPoolBytes, 2 * run->bytes_of_set);
  if (static_cast<int64_t>(weights_.bytes()) < pool_bytes) weights_ = filled(pool_bytes);
  const Tensor pool = weights_;
  run->pool = static_cast<char*>(const_cast<void*>(pool.raw()));
  if (run->bytes_of_set > 0) run->sets = std::max<int64_t>(pool_bytes / run->bytes_of_set, 1);
  run->workspace =
      Tensor(ElementType::UInt8, {kernel->workspace_bytes(target_.threads) + kAlignment});
  return [run, pool, threads = target_.threads] {
    char* const set = run->pool + run->next * run->bytes_of_set;
    for (const auto& [argument, offset] : run->weights) run->arguments[argument] = set + offset;
    run->next = (run->next + 1) % run->sets;
    run->kernel->run(run->arguments, run->workspace.raw(), threads);
  };
}

}  // namespace opsmith::search
