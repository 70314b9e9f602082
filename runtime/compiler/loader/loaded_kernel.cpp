#include <algorithm>
#include <cstring>

#include "runtime/compiler/loader/elf_image.h"
#include "runtime/compiler/loader/kernel_object.h"
#include "support/denormals.h"
#include "support/error.h"
#include "support/thread_team.h"

namespace opsmith::compiler {
namespace {

using PhaseFunction = void (*)(void* const* tensors, void* workspace, int64_t begin, int64_t end,
                               void* scratch);

/// Short runs, usually one pixel of a block of channels, without a call for each.
void zero_run(char* at, int64_t bytes) {
  constexpr int64_t kLine = 64;
  if (bytes % kLine != 0 || bytes > 4 * kLine) {
    std::memset(at, 0, static_cast<size_t>(bytes));
    return;
  }
  for (; bytes > 0; bytes -= kLine, at += kLine) std::memset(at, 0, kLine);
}

void zero(const KernelObject::ZeroFill& fill, char* base, size_t depth) {
  if (depth == fill.loops.size()) return zero_run(base, fill.bytes);
  const KernelObject::ZeroFill::Loop& loop = fill.loops[depth];
  for (int64_t i = 0; i < loop.count; ++i) zero(fill, base + i * loop.stride, depth + 1);
}

/// Part `part` of `parts`, along the two outer loops: there may be only one image, but many blocks
/// of channels.
void zero_part(const KernelObject::ZeroFill& fill, char* base, int64_t part, int64_t parts) {
  const size_t shared = std::min<size_t>(fill.loops.size(), 2);
  int64_t count = 1;
  for (size_t i = 0; i < shared; ++i) count *= fill.loops[i].count;
  for (int64_t item = count * part / parts; item < count * (part + 1) / parts; ++item) {
    const int64_t inner = shared == 2 ? fill.loops[1].count : 1;
    int64_t offset = 0;
    if (shared > 0) offset += item / inner * fill.loops[0].stride;
    if (shared > 1) offset += item % inner * fill.loops[1].stride;
    zero(fill, base + offset, shared);
  }
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
    for (size_t i = 0; i < phases.size(); ++i) {
      functions.push_back(reinterpret_cast<PhaseFunction>(image.symbol(phases[i].symbol)));
      if (groups.empty() || phases[i].waits) groups.push_back({i, i, 1});
      groups.back().end = i + 1;
      groups.back().most_tasks = std::max(groups.back().most_tasks, phases[i].tasks);
    }
  }

  /// Phases that run without waiting for each other.
  struct Group {
    size_t begin = 0, end = 0;  ///< of phases
    int64_t most_tasks = 1;
  };

  /// Part `part` of `parts` of a group, on the team's thread `thread`; the first group zeroes the
  /// halos too.
  void work(void* const* tensors, void* workspace, const Group& group, int64_t part, int64_t parts,
            int thread) const {
    const FlushDenormals flush;
    char* const scratch = static_cast<char*>(workspace) + workspace_bytes + thread * scratch_bytes;
    if (&group == groups.data()) {
      for (const KernelObject::ZeroFill& fill : zero_fills) {
        char* base = static_cast<char*>(fill.argument < 0 ? workspace : tensors[fill.argument]);
        zero_part(fill, base + fill.offset, part, parts);
      }
    }
    for (size_t i = group.begin; i < group.end; ++i) {
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
  std::vector<Group> groups;
};

LoadedKernel::LoadedKernel(const KernelObject& object)
    : mapping_(std::make_unique<Mapping>(object)) {}

LoadedKernel::~LoadedKernel() = default;

const std::vector<KernelObject::Phase>& LoadedKernel::phases() const { return mapping_->phases; }

const std::vector<KernelObject::Argument>& LoadedKernel::arguments() const {
  return mapping_->arguments;
}

int64_t LoadedKernel::workspace_bytes(int threads) const {
  const int64_t parts = std::max(threads, 1);
  return mapping_->workspace_bytes + parts * mapping_->scratch_bytes;
}

void LoadedKernel::run(std::span<void* const> arguments, void* workspace, ThreadTeam& team) const {
  require(arguments.size() == mapping_->arguments.size(),
          "a kernel of " + std::to_string(mapping_->arguments.size()) + " arguments got " +
              std::to_string(arguments.size()));
  void* const* tensors = arguments.data();
  for (const Mapping::Group& group : mapping_->groups) {
    const int64_t parts = team.chunks_for(group.most_tasks);
    team.run(parts, [&](int64_t part, int thread) noexcept {
      mapping_->work(tensors, workspace, group, part, parts, thread);
    });
  }
}

void LoadedKernel::run(std::span<void* const> arguments, void* workspace, int threads) const {
  ThreadTeam team(threads);
  run(arguments, workspace, team);
}

}  // namespace opsmith::compiler
