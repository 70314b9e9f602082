#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace opsmith {
class ThreadTeam;
}

namespace opsmith::compiler {

/// Machine code of one kernel and how to call it. No LLVM is needed to load and run it.
///
/// A kernel runs its phases in order; a phase is a number of independent tasks, which may run on
/// any thread; all tasks of a phase end before the next one that waits begins.
struct KernelObject {
  /// A function void(void* const* tensors, void* workspace, int64_t begin, int64_t end,
  /// void* scratch) that runs the tasks [begin, end). `tensors` are the arguments in order;
  /// `scratch` belongs to the thread.
  struct Phase {
    std::string symbol;
    int64_t tasks = 1;
    bool waits = true;  ///< for the end of every earlier phase
  };
  struct Argument {
    std::string name;
    int64_t bytes = 0;  ///< storage, padding and halo included
    int64_t halo_bytes = 0;
  };
  /// A part of a halo to be zeroed on every run: `bytes` at `offset` + sum(i * stride) for every i
  /// below `count` of each loop.
  struct ZeroFill {
    struct Loop {
      int64_t count = 1;
      int64_t stride = 0;
    };
    int64_t argument = 0;  ///< index of an argument; -1 for the workspace
    int64_t offset = 0;
    int64_t bytes = 0;
    std::vector<Loop> loops;
  };
  std::string object;  ///< an ELF relocatable file whose only external names are memcpy, memset
  std::vector<Phase> phases;
  std::vector<Argument> arguments;   ///< inputs, weights, outputs, in the program's order
  std::vector<ZeroFill> zero_fills;  ///< done before the first phase
  int64_t workspace_bytes = 0;       ///< intermediate stages; 64-byte aligned
  int64_t scratch_bytes = 0;         ///< those computed within a task, for each thread

  std::string serialize() const;
  static KernelObject deserialize(const std::string& bytes);  ///< throws UserError when damaged
};

/// A kernel mapped into executable memory. Safe to run from several threads at once.
class LoadedKernel {
 public:
  /// Throws InternalError when the object needs anything but memcpy and memset.
  explicit LoadedKernel(const KernelObject& object);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  const std::vector<KernelObject::Phase>& phases() const;
  const std::vector<KernelObject::Argument>& arguments() const;
  /// What `run` needs: intermediate stages of all threads, then what each has for itself.
  int64_t workspace_bytes(int threads) const;

  /// `arguments` in the order of KernelObject::arguments, 64-byte aligned; `workspace` of
  /// workspace_bytes(threads of the team). Denormals are flushed meanwhile.
  void run(std::span<void* const> arguments, void* workspace, ThreadTeam& team) const;
  void run(std::span<void* const> arguments, void* workspace, int threads) const;

 private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace opsmith::compiler
