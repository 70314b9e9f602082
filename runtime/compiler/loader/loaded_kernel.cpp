#include <omp.h>

#include <algorithm>
#include <cstring>

#include "runtime/compiler/loader/elf_image.h"
#include "runtime/compiler/loader/kernel_object.h"
#include "support/denormals.h"
#include "support/error.h"

namespace opsmith::compiler {
namespace {

using PhaseFunction = void (*)(void* const* tensors, void* workspace, int64_t begin, int64_t end,
                               void* scratch);

void zero(const KernelObject::ZeroFill& fill, char* base, size_t depth, int64_t begin,
          int64_t end) {
  if (depth == fill.loops.size()) {
    std::memset(base, 0, static_cast<size_t>(fill.bytes));
    return;
  }
  const KernelObject::ZeroFill::Loop& loop = fill.loops[depth];
  const int64_t next = depth + 1 < fill.loops.size() ? fill.loops[depth + 1].count : 0;
  for (int64_t i = begin; i < end; ++i) zero(fill, base + i * loop.stride, depth + 1, 0, next);
}

}  // namespace

struct LoadedKernel::Mapping {
  explicit Mapping(const KernelObject& object)
      : image(object.object),
        phases(object.phases),
        arguments(object.arguments),
        zero_fills(object.zero_fills),
        workspace_bytes(object.workspace_bytes),
        scratch_bytes((object.scratch_bytes + 63) / 64 * 64) {
    for (const KernelObject::Phase& phase : phases) {
      functions.push_back(reinterpret_cast<PhaseFunction>(image.symbol(phase.symbol)));
      most_tasks = std::max(most_tasks, phase.tasks);
    }
  }

  /// What thread `part` of `parts` does; `wait` is called between dependent phases.
  template <typename Wait>
  void work(void* const* tensors, void* workspace, int part, int parts, const Wait& wait) const {
    const FlushDenormals flush;
    char* const scratch = static_cast<char*>(workspace) + workspace_bytes + part * scratch_bytes;
    for (const KernelObject::ZeroFill& fill : zero_fills) {
      char* base = static_cast<char*>(fill.argument < 0 ? workspace : tensors[fill.argument]);
      const int64_t count = fill.loops.empty() ? 1 : fill.loops[0].count;
      const int64_t begin = count * part / parts;
      const int64_t end = count * (part + 1) / parts;
      if (fill.loops.empty() ? part == 0 : begin < end)
        zero(fill, base + fill.offset, 0, begin, end);
    }
    for (size_t i = 0; i < phases.size(); ++i) {
      if (phases[i].waits) wait();
      const int64_t begin = phases[i].tasks * part / parts;
      const int64_t end = phases[i].tasks * (part + 1) / parts;
      if (begin < end) functions[i](tensors, workspace, begin, end, scratch);
    }
  }

  ElfImage image;
  std::vector<KernelObject::Phase> phases;
  std::vector<KernelObject::Argument> arguments;
  std::vector<KernelObject::ZeroFill> zero_fills;
  int64_t workspace_bytes = 0;
  int64_t scratch_bytes = 0;
  std::vector<PhaseFunction> functions;
  int64_t most_tasks = 1;
};

LoadedKernel::LoadedKernel(const KernelObject& object)
    : mapping_(std::make_unique<Mapping>(object)) {}

LoadedKernel::~LoadedKernel() = default;

const std::vector<KernelObject::Phase>& LoadedKernel::phases() const { return mapping_->phases; }

const std::vector<KernelObject::Argument>& LoadedKernel::arguments() const {
  return mapping_->arguments;
}

int64_t LoadedKernel::workspace_bytes(int threads) const {
  const int64_t parts = std::max<int64_t>(1, std::min<int64_t>(threads, mapping_->most_tasks));
  return mapping_->workspace_bytes + parts * mapping_->scratch_bytes;
}

void LoadedKernel::run(std::span<void* const> arguments, void* workspace, int threads) const {
  require(arguments.size() == mapping_->arguments.size(),
          "a kernel of " + std::to_string(mapping_->arguments.size()) + " arguments got " +
              std::to_string(arguments.size()));
  void* const* tensors = arguments.data();
  const int parts = static_cast<int>(std::min<int64_t>(threads, mapping_->most_tasks));
  if (parts <= 1) {
    mapping_->work(tensors, workspace, 0, 1, [] {});
    return;
  }
#pragma omp parallel num_threads(parts)
  {
    const int team = omp_get_num_threads();
    mapping_->work(tensors, workspace, omp_get_thread_num(), team, [] {
#pragma omp barrier
    });
  }
}

}  // namespace opsmith::compiler
