#include "runtime/schedule/layout.h"

#include <gtest/gtest.h>

#include "support/error.h"

namespace opsmith::schedule {
namespace {

TEST(Layout, RowMajorOffsets) {
  const Layout layout = Layout::row_major(3);
  EXPECT_TRUE(layout.is_row_major());
  EXPECT_EQ(layout.storage_count({2, 3, 4}), 24);
  EXPECT_EQ(layout.offset({2, 3, 4}, {1, 2, 3}), 23);
}

TEST(Layout, ChannelBlocksPadUp) {
  const Layout layout = Layout::channel_blocked(4, 16);
  EXPECT_FALSE(layout.is_row_major());
  EXPECT_EQ(layout.block_of(1), 16);
  EXPECT_EQ(layout.storage_count({1, 24, 5, 7}), 2 * 5 * 7 * 16);
  EXPECT_EQ(layout.offset({1, 24, 5, 7}, {0, 17, 2, 3}), ((1 * 5 + 2) * 7 + 3) * 16 + 1);
}

TEST(Layout, HaloShiftsPositions) {
  Layout layout = Layout::channel_blocked(4, 8);
  layout.halo = {{}, {}, {1, 2}, {3, 0}};
  EXPECT_EQ(layout.storage_count({1, 8, 5, 7}), 8 * 10 * 8);
  EXPECT_EQ(layout.offset({1, 8, 5, 7}, {0, 0, -1, -3}), 0);
  EXPECT_EQ(layout.offset({1, 8, 5, 7}, {0, 3, 0, 0}), (1 * 10 + 3) * 8 + 3);
}

TEST(Layout, NestedBlocks) {
  // 12 = 2 x (2 x 3): the last piece of a dimension is its fastest.
  const Layout layout = parse_layout("1,0,0/2,0/3");
  EXPECT_EQ(layout.block_of(0), 6);
  EXPECT_EQ(layout.offset({12, 2}, {10, 1}), 1 * 12 + 1 * 6 + 1 * 3 + 1);
}

TEST(Layout, TextRoundTrip) {
  for (const char* text :
       {"0,1,2,3,1/16", "0,1,2,3", "1,0,0/32", "0,1,2,3,1/16 halo 2:1:1,3:0:2"}) {
    EXPECT_EQ(to_string(parse_layout(text)), text);
  }
  EXPECT_EQ(to_string(Layout::row_major(0)), "");
  EXPECT_EQ(parse_layout(""), Layout::row_major(0));
}

TEST(Layout, BadTextIsRejected) {
  for (const char* text : {"0,1,1", "0,2", "0,1/0", "a", "0,1 halo 2:1:1", "0,1 halo 1:1", "0/4",
                           "0,1,4294967295", "0,1,0/99999999", "0,0/65536,0/65536", "-1,0"}) {
    EXPECT_THROW(parse_layout(text), UserError) << text;
  }
}

TEST(Layout, ConversionRoundTripAndZeroHalo) {
  const Shape shape = {2, 5, 3, 4};
  Layout blocked = Layout::channel_blocked(4, 4);
  blocked.halo = {{}, {}, {1, 1}, {2, 1}};
  std::vector<float> plain(120);
  for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<float>(i + 1);
  std::vector<float> stored(static_cast<size_t>(blocked.storage_count(shape)), -1.0F);
  convert_layout(plain.data(), Layout::row_major(4), stored.data(), blocked, shape,
                 ElementType::Float32);
  EXPECT_EQ(stored[static_cast<size_t>(blocked.offset(shape, {1, 4, 2, 3}))], plain[119]);
  for (int64_t w : {-2, -1, 4}) {
    EXPECT_EQ(stored[static_cast<size_t>(blocked.offset(shape, {0, 2, 1, w}))], 0.0F);
  }
  double sum = 0;
  for (float value : stored) sum += value;
  EXPECT_EQ(sum, 120.0 * 121.0 / 2);
  std::vector<float> back(120);
  convert_layout(stored.data(), blocked, back.data(), Layout::row_major(4), shape,
                 ElementType::Float32);
  EXPECT_EQ(back, plain);
}

TEST(Layout, ConversionOfOtherElementSizesAndEmptyTensors) {
  const Layout from = Layout::row_major(2);
  const Layout to = parse_layout("1,0,0/2");
  const std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6};
  std::vector<uint8_t> stored(8, 9);
  convert_layout(bytes.data(), from, stored.data(), to, {3, 2}, ElementType::UInt8);
  EXPECT_EQ(stored, (std::vector<uint8_t>{1, 3, 5, 0, 2, 4, 6, 0}));
  convert_layout(bytes.data(), from, stored.data(), to, {0, 2}, ElementType::UInt8);
}

}  // namespace
}  // namespace opsmith::schedule
