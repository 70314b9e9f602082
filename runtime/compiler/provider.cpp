#include <future>
#include <map>
#include <mutex>

#include "runtime/compiler/codegen/machine_code.h"
#include "runtime/compiler/compiler.h"
#include "runtime/compiler/object_cache.h"
#include "support/hash.h"

namespace opsmith::compiler {
namespace {

/// Raised whenever the same specification makes different code than before.
constexpr int64_t kCodeVersion = 3;

class Compiler : public schedule::KernelProvider {
 public:
  explicit Compiler(const std::string& cache_folder) : cache_(cache_folder) {}

  std::shared_ptr<const LoadedKernel> kernel(
      const schedule::KernelSpecification& specification) override {
    const std::string key = Hasher()
                                .text(specification.hash())
                                .text(code_generator_version())
                                .number(kCodeVersion)
                                .hex();
    // The first to ask makes the kernel, the others wait for it.
    std::promise<std::shared_ptr<const LoadedKernel>> promise;
    std::shared_future<std::shared_ptr<const LoadedKernel>> future;
    bool mine = false;
    {
      const std::lock_guard lock(mutex_);
      const auto found = kernels_.find(key);
      if (found != kernels_.end()) {
        future = found->second;
      } else {
        future = promise.get_future().share();
        kernels_.emplace(key, future);
        mine = true;
      }
    }
    if (mine) {
      try {
        promise.set_value(make(key, specification));
      } catch (...) {
        promise.set_exception(std::current_exception());
        const std::lock_guard lock(mutex_);
        kernels_.erase(key);
      }
    }
    return future.get();
  }

 private:
  std::shared_ptr<const LoadedKernel> make(const std::string& key,
                                           const schedule::KernelSpecification& specification) {
    if (const auto object = cache_.find(key)) return std::make_shared<LoadedKernel>(*object);
    const KernelObject object = compile(specification);
    cache_.add(key, object);
    return std::make_shared<LoadedKernel>(object);
  }

  ObjectCache cache_;
  std::mutex mutex_;
  std::map<std::string, std::shared_future<std::shared_ptr<const LoadedKernel>>> kernels_;
};

}  // namespace

std::shared_ptr<schedule::KernelProvider> make_compiler(const std::string& cache_folder) {
  return std::make_shared<Compiler>(cache_folder);
}

}  // namespace opsmith::compiler
