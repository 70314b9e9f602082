#include "support/thread_team.h"

#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "support/parallel.h"

namespace opsmith {
namespace {

constexpr int64_t kChunksPerThread = 8;
/// How long a helper without work, and a caller whose last chunks are elsewhere, spin before they
/// leave their core to others.
constexpr std::chrono::microseconds kHelperSpin{200};
constexpr std::chrono::microseconds kCallerSpin{50};

/// Calls `ready` until it is true or the time is over.
template <typename Ready>
bool spin(std::chrono::microseconds limit, const Ready& ready) {
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      _mm_pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/// Where a helper may run: where it could when it began, but not on its caller's core. On a busy
/// machine the system likes to wake a thread on the core of the one that wakes it, where it would
/// wait until that is interrupted.
class Placement {
 public:
  Placement() { known_ = ::sched_getaffinity(0, sizeof allowed_, &allowed_) == 0; }

  void leave(int core) const {
    if (!known_ || core < 0 || core >= CPU_SETSIZE || core != ::sched_getcpu()) return;
    cpu_set_t others = allowed_;
    CPU_CLR(static_cast<size_t>(core), &others);
    if (CPU_COUNT(&others) > 0) ::sched_setaffinity(0, sizeof others, &others);
  }

 private:
  cpu_set_t allowed_;
  bool known_ = false;
};

/// Chunks of one thread's share that are left, and of which loop: both in one word, so that taking
/// one succeeds only while that loop goes on.
struct alignas(64) Share {
  std::atomic<uint64_t> word{0};
};

uint64_t pack(uint32_t loop, int64_t left) {
  return static_cast<uint64_t>(loop) << 32 | static_cast<uint64_t>(left);
}
int64_t left_in(uint64_t word) { return static_cast<int64_t>(word & 0xffffffffu); }

}  // namespace

struct ThreadTeam::Crew {
  explicit Crew(int helpers) : shares(static_cast<size_t>(helpers) + 1) {
    try {
      for (int i = 1; i <= helpers; ++i) threads.emplace_back([this, i] { help(i); });
    } catch (const std::system_error&) {
      // No more threads to be had: the others take the shares of those that are missing.
    }
  }
  ~Crew() {
    stop = true;
    announce();
    for (std::thread& thread : threads) thread.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Takes a chunk, the own share first; false when none is left. What `function`, `context` and
  /// `ends` say holds from the success of the exchange until the chunk is counted as done.
  bool take_and_run(size_t self) {
    for (size_t i = 0; i < shares.size(); ++i) {
      const size_t owner = (self + i) % shares.size();
      uint64_t word = shares[owner].word.load(std::memory_order_acquire);
      while (left_in(word) > 0) {
        if (!shares[owner].word.compare_exchange_weak(word, word - 1, std::memory_order_acq_rel,
                                                      std::memory_order_acquire)) {
          continue;
        }
        const int64_t chunk = ends[owner] - left_in(word);
        function(context, chunk, static_cast<int>(self));
        if (unfinished.fetch_sub(1) == 1 && caller_sleeps.load()) unfinished.notify_one();
        return true;
      }
    }
    return false;
  }

  void help(int number) {
    const auto self = static_cast<size_t>(number);
    const Placement placement;
    uint32_t seen = 0;
    while (!stop.load(std::memory_order_acquire)) {
      placement.leave(caller_core.load(std::memory_order_relaxed));
      while (take_and_run(self)) {
      }
      const auto changed = [&] { return loop.load(std::memory_order_acquire) != seen; };
      if (!spin(kHelperSpin, changed)) {
        ++sleepers;
        loop.wait(seen);
        --sleepers;
      }
      seen = loop.load(std::memory_order_acquire);
    }
  }

  /// Tells the helpers that something is new.
  void announce() {
    ++loop;
    if (sleepers.load() > 0) loop.notify_all();
  }

  void run(int64_t chunks, Function new_function, const void* new_context) {
    function = new_function;
    context = new_context;
    caller_core.store(::sched_getcpu(), std::memory_order_relaxed);
    unfinished.store(static_cast<int>(chunks), std::memory_order_relaxed);
    const auto parts = static_cast<int64_t>(shares.size());
    ends.resize(shares.size());
    const uint32_t number = loop.load(std::memory_order_relaxed) + 1;
    for (int64_t i = 0; i < parts; ++i) ends[static_cast<size_t>(i)] = chunks * (i + 1) / parts;
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t count = chunks * (i + 1) / parts - chunks * i / parts;
      shares[static_cast<size_t>(i)].word.store(pack(number, count), std::memory_order_release);
    }
    announce();
    while (take_and_run(0)) {
    }
    const auto finished = [&] { return unfinished.load(std::memory_order_acquire) == 0; };
    if (spin(kCallerSpin, finished)) return;
    caller_sleeps = true;
    for (int left = unfinished.load(); left != 0; left = unfinished.load()) {
      unfinished.wait(left);
    }
    caller_sleeps = false;
  }

  std::vector<Share> shares;
  std::vector<int64_t> ends;  ///< of each share, in chunks
  Function function = nullptr;
  const void* context = nullptr;
  alignas(64) std::atomic<uint32_t> loop{0};
  alignas(64) std::atomic<int> unfinished{0};
  std::atomic<bool> caller_sleeps{false};
  std::atomic<int> sleepers{0};
  std::atomic<int> caller_core{-1};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
};

namespace {

/// All crews of the process.
class Crews {
 public:
  /// An idle crew for a team of at most `threads`, or none when the cores are taken. The caller
  /// counts as running either way.
  ThreadTeam::Crew* borrow(int threads, int& size) {
    const std::scoped_lock lock(mutex_);
    const int limit = std::max(available_cores(), threads);
    size = std::clamp(limit - running_, 1, threads);
    running_ += size;
    if (size == 1) return nullptr;
    const auto helpers = static_cast<size_t>(size) - 1;
    const auto found = std::find_if(idle_.begin(), idle_.end(), [&](const auto& crew) {
      return crew->shares.size() == helpers + 1;
    });
    if (found == idle_.end()) return new ThreadTeam::Crew(static_cast<int>(helpers));
    ThreadTeam::Crew* crew = found->release();
    idle_.erase(found);
    return crew;
  }

  void give_back(ThreadTeam::Crew* crew, int size) {
    const std::scoped_lock lock(mutex_);
    running_ -= size;
    if (crew != nullptr) idle_.emplace_back(crew);
  }

 private:
  std::mutex mutex_;
  int running_ = 0;
  std::vector<std::unique_ptr<ThreadTeam::Crew>> idle_;
};

Crews& crews() {
  static Crews all;
  return all;
}

}  // namespace

ThreadTeam::ThreadTeam(int threads) : crew_(crews().borrow(std::max(threads, 1), size_)) {}

ThreadTeam::~ThreadTeam() { crews().give_back(crew_, size_); }

int64_t ThreadTeam::chunks_for(int64_t items) const {
  return size_ == 1 ? std::min<int64_t>(items, 1) : std::min(items, size_ * kChunksPerThread);
}

void ThreadTeam::run(int64_t chunks, Function function, const void* context) {
  if (crew_ != nullptr && chunks > 1) return crew_->run(chunks, function, context);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) function(context, chunk, 0);
}

}  // namespace opsmith
