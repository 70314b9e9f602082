#include "runtime/executor/layout/copy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/thread_team.h"
#include "tests/runtime/executor/models.h"

namespace opsmith::executor {
namespace {

using schedule::Layout;

Layout layout(size_t rank, int64_t block, int64_t halo) {
  Layout made = block == 1 ? Layout::row_major(rank) : Layout::channel_blocked(rank, block);
  if (halo > 0) {
    made.halo.resize(rank);
    for (size_t d = 2; d < rank; ++d) made.halo[d] = {halo, halo + 1};
  }
  return made;
}

TEST(LayoutCopy, EqualsThePlainConversionForAllPairs) {
  Random random(3);
  std::vector<Layout> layouts;
  for (int64_t block : {1, 8, 16}) {
    for (int64_t halo : {0, 2}) layouts.push_back(layout(4, block, halo));
  }
  for (Shape shape : {Shape{2, 16, 5, 7}, Shape{1, 21, 3, 4}, Shape{1, 3, 1, 1}}) {
    Tensor x = testing::random_tensor(random, shape);
    for (const Layout& from : layouts) {
      std::vector<float> source(static_cast<size_t>(from.storage_count(shape)));
      schedule::convert_layout(x.raw(), Layout::row_major(4), source.data(), from, shape,
                               ElementType::Float32);
      for (const Layout& to : layouts) {
        std::vector<float> made(static_cast<size_t>(to.storage_count(shape)), 9.0F);
        ThreadTeam team(2);
        change_layout(source.data(), from, made.data(), to, shape, ElementType::Float32, team);
        Tensor back(ElementType::Float32, shape);
        schedule::convert_layout(made.data(), to, back.raw(), Layout::row_major(4), shape,
                                 ElementType::Float32);
        EXPECT_TRUE(identical(back, x)) << to_string(from) << " to " << to_string(to);
        if (!to.halo.empty()) {
          EXPECT_EQ(made[static_cast<size_t>(to.offset(shape, {0, 0, -1, -1}))], 0.0F);
        }
      }
    }
  }
}

TEST(LayoutCopy, ZeroHaloTouchesOnlyTheHalo) {
  Shape shape = {2, 20, 3, 4};
  for (int64_t block : {1, 16}) {
    Layout haloed = layout(4, block, 1);
    std::vector<float> data(static_cast<size_t>(haloed.storage_count(shape)), 5.0F);
    zero_halo(data.data(), haloed, shape, ElementType::Float32);
    for (int64_t c = 0; c < shape[1]; ++c) {
      for (int64_t h = -1; h < shape[2] + 2; ++h) {
        for (int64_t w = -1; w < shape[3] + 2; ++w) {
          bool inside = h >= 0 && h < shape[2] && w >= 0 && w < shape[3];
          float value = data[static_cast<size_t>(haloed.offset(shape, {1, c, h, w}))];
          ASSERT_EQ(value, inside ? 5.0F : 0.0F) << c << " " << h << " " << w;
        }
      }
    }
  }
}

TEST(LayoutCopy, JoinsChannelsOfPartsWithOtherHalos) {
  Random random(5);
  Shape shape = {2, 36, 3, 5};
  Layout to = layout(4, 16, 1);
  std::vector<float> joined(static_cast<size_t>(to.storage_count(shape)), 9.0F);
  std::vector<Tensor> parts = {testing::random_tensor(random, {2, 16, 3, 5}),
                               testing::random_tensor(random, {2, 20, 3, 5})};
  std::vector<std::vector<float>> stored;
  std::vector<JoinPart> list;
  for (size_t i = 0; i < parts.size(); ++i) {
    Layout own = layout(4, 16, static_cast<int64_t>(i) * 2);
    stored.emplace_back(static_cast<size_t>(own.storage_count(parts[i].shape())));
    schedule::convert_layout(parts[i].raw(), Layout::row_major(4), stored.back().data(), own,
                             parts[i].shape(), ElementType::Float32);
    list.push_back({stored.back().data(), own, parts[i].shape()[1]});
  }
  ThreadTeam team(2);
  join_channels(list, joined.data(), to, shape, team);
  for (int64_t c = 0; c < 36; ++c) {
    const Tensor& part = parts[c < 16 ? 0 : 1];
    int64_t channel = c < 16 ? c : c - 16;
    auto at = static_cast<size_t>(((part.shape()[1] + channel) * 3 + 2) * 5 + 4);
    EXPECT_EQ(joined[static_cast<size_t>(to.offset(shape, {1, c, 2, 4}))], part.data<float>()[at]);
  }
  EXPECT_EQ(joined[static_cast<size_t>(to.offset(shape, {0, 0, -1, 0}))], 0.0F);
}

}  // namespace
}  // namespace opsmith::executor
