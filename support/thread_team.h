#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace opsmith {

/// The calling thread and some borrowed threads of the process that share loops with it.
///
/// Made for very many short loops, one after the other, on cores that other programs may want too.
/// Each loop is cut into chunks; each thread begins with a share of its own and then takes what
/// others have not begun. So a thread that is not running holds up nobody, unless it was
/// interrupted inside a chunk. Helpers spin for a moment after a loop and then sleep.
///
/// Threads belong to the process and are used again. While several teams live at once they share
/// the cores: one gets fewer threads, at worst none beside the caller, rather than more threads
/// running than there are cores (or than one team asked for, where that is more).
class ThreadTeam {
 public:
  /// Up to `threads` threads in all, the caller counted.
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Threads that it has, the caller counted.
  int size() const { return size_; }

  /// A number of chunks into which `items` independent items are well cut.
  int64_t chunks_for(int64_t items) const;

  /// Calls work(chunk, thread) once for each chunk in [0, chunks), on any of the threads (numbered
  /// from 0, the caller), and returns when all are done. `work` must not throw and not use this
  /// team.
  template <typename Work>
  void run(int64_t chunks, const Work& work) {
    static_assert(std::is_nothrow_invocable_v<const Work&, int64_t, int>);
    run(
        chunks,
        [](const void* context, int64_t chunk, int thread) {
          (*static_cast<const Work*>(context))(chunk, thread);
        },
        &work);
  }

  struct Crew;  ///< threads that are lent together

 private:
  using Function = void (*)(const void* context, int64_t chunk, int thread);
  void run(int64_t chunks, Function function, const void* context);

  int size_ = 1;
  Crew* crew_ = nullptr;
};

}  // namespace opsmith
