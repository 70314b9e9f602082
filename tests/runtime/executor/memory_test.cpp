#include "runtime/executor/memory.h"

#include <gtest/gtest.h>

#include "support/random.h"

namespace opsmith::executor {
namespace {

TEST(Memory, BlocksInUseTogetherNeverOverlap) {
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<MemoryRequest> requests;
    for (int i = 0; i < 40; ++i) {
      auto first = static_cast<size_t>(random.integer(0, 30));
      auto last = first + static_cast<size_t>(random.integer(0, 6));
      requests.push_back({random.integer(0, 1000), first, last, 0});
    }
    int64_t total = place_in_arena(requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(requests[i].offset % 64, 0);
      EXPECT_LE(requests[i].offset + requests[i].bytes, total);
      for (size_t j = 0; j < i; ++j) {
        const MemoryRequest &a = requests[i], &b = requests[j];
        if (a.first > b.last || b.first > a.last) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
      }
    }
  }
}

TEST(Memory, AChainNeedsOnlyTwoNeighbours) {
  std::vector<MemoryRequest> requests;
  for (size_t i = 0; i < 10; ++i) requests.push_back({640, i, i + 1, 0});
  EXPECT_EQ(place_in_arena(requests), 1280);
}

}  // namespace
}  // namespace opsmith::executor
