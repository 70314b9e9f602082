#include "support/thread_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/parallel.h"

namespace opsmith {
namespace {

TEST(ThreadTeam, EveryChunkOnceInEveryLoop) {
  for (int threads : {1, 2, 3, 7}) {
    ThreadTeam team(threads);
    EXPECT_EQ(team.size(), threads);
    for (int64_t chunks : {0, 1, 2, 3, 8, 57, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(chunks));
      team.run(chunks, [&](int64_t chunk, int) noexcept { ++calls[static_cast<size_t>(chunk)]; });
      for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadTeam, ALoopSeesWhatTheOneBeforeItWrote) {
  ThreadTeam team(3);
  constexpr size_t kItems = 24;
  std::vector<int64_t> now(kItems), next(kItems);
  for (int64_t loop = 0; loop < 5000; ++loop) {
    team.run(kItems, [&](int64_t i, int) noexcept {
      const auto at = static_cast<size_t>(i);
      next[at] = now[(at + 1) % kItems] + 1;
    });
    now.swap(next);
  }
  for (int64_t value : now) EXPECT_EQ(value, 5000);
}

TEST(ThreadTeam, HelpersThatSleepAreWoken) {
  ThreadTeam team(3);
  for (int loop = 0; loop < 20; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> calls{0};
    team.run(9, [&](int64_t, int) noexcept { ++calls; });
    EXPECT_EQ(calls, 9);
  }
}

TEST(ThreadTeam, HelpersWorkAndHaveNumbers) {
  ThreadTeam team(2);
  std::atomic<int> present{0}, numbers{0};
  // Ends only when both threads are inside at once.
  team.run(2, [&](int64_t, int thread) noexcept {
    numbers += 1 + thread;
    ++present;
    while (present < 2) std::this_thread::yield();
  });
  EXPECT_EQ(numbers, 3);
}

TEST(ThreadTeam, TeamsThatLiveAtOnceShareTheCores) {
  const int cores = available_cores();
  ThreadTeam first(cores + 1);
  EXPECT_EQ(first.size(), cores + 1);
  {
    ThreadTeam second(cores + 1);
    EXPECT_EQ(second.size(), 1);
    int calls = 0;
    second.run(5, [&](int64_t, int) noexcept { ++calls; });
    EXPECT_EQ(calls, 5);
  }
}

TEST(ThreadTeam, ManyCallersAtOnce) {
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        ThreadTeam team(2);
        team.run(10, [&](int64_t chunk, int) noexcept { sum += chunk; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 200 * 45);
}

TEST(ThreadTeam, ChunksAreNeverMoreThanItems) {
  {
    const ThreadTeam one(1);
    EXPECT_EQ(one.chunks_for(0), 0);
    EXPECT_EQ(one.chunks_for(100), 1);
  }
  const ThreadTeam two(2);
  EXPECT_EQ(two.chunks_for(0), 0);
  EXPECT_EQ(two.chunks_for(3), 3);
  EXPECT_GE(two.chunks_for(1000), 2);
  EXPECT_LE(two.chunks_for(1000), 1000);
}

}  // namespace
}  // namespace opsmith
