#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace opsmith::compiler {

/// Machine code of one kernel and how to call it. No LLVM is needed to load and run it.
///
/// A kernel runs its phases in order; a phase is a number of independent tasks, which may run on
/// any thread; all tasks of a phase end before the next begins.
struct KernelObject {
  struct Phase {
    std::string symbol;
    int64_t tasks = 1;
  };
  struct Argument {
    std::string name;
    int64_t bytes = 0;  ///< storage, padding and halo included
    int64_t halo_bytes = 0;
  };
  std::string object;  ///< an ELF relocatable file whose only external names are memcpy, memset
  std::vector<Phase> phases;
  std::vector<Argument> arguments;  ///< inputs, weights, outputs, in the program's order
  int64_t workspace_bytes = 0;      ///< intermediate stages; 64-byte aligned

  std::string serialize() const;
  static KernelObject deserialize(const std::string& bytes);  ///< throws UserError when damaged
};

/// A kernel mapped into executable memory. Safe to run from several threads at once.
class LoadedKernel {
 public:
  explicit LoadedKernel(const KernelObject& object);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  const std::vector<KernelObject::Phase>& phases() const;
  const std::vector<KernelObject::Argument>& arguments() const;
  int64_t workspace_bytes() const;

  /// `arguments` in the order of KernelObject::arguments; `workspace` of workspace_bytes.
  /// Uses at most `threads` OpenMP threads.
  void run(std::span<void* const> arguments, void* workspace, int threads) const;

 private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace opsmith::compiler
