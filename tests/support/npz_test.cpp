#include "support/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/random.h"
#include "support/zip.h"
#include "tests/support/temporary_folder.h"

namespace opsmith {
namespace {

using ::testing::HasSubstr;

std::map<std::string, Tensor> example() {
  Random random(3);
  Tensor noise(ElementType::Float32, {17, 5});
  for (float& v : noise.data<float>()) v = static_cast<float>(random.normal());
  return {{"noise", noise},
          {"zeros", Tensor::zeros(ElementType::Int64, {1000})},
          {"a/b.c", Tensor::scalar<double>(2.5)}};
}

class NpzRoundTrip : public ::testing::TestWithParam<bool> {};

TEST_P(NpzRoundTrip, KeepsNamesAndBits) {
  const testing::TemporaryFolder folder;
  const auto tensors = example();
  write_npz(folder / "t.npz", tensors, GetParam());
  const auto read = read_npz(folder / "t.npz");
  ASSERT_EQ(read.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    ASSERT_TRUE(read.contains(name)) << name;
    EXPECT_TRUE(identical(read.at(name), tensor)) << name;
  }
}

TEST_P(NpzRoundTrip, WritesTheSameBytesEachTime) {
  const testing::TemporaryFolder folder;
  write_npz(folder / "a.npz", example(), GetParam());
  write_npz(folder / "b.npz", example(), GetParam());
  EXPECT_EQ(read_file(folder / "a.npz"), read_file(folder / "b.npz"));
}

TEST_P(NpzRoundTrip, EveryTruncationIsAnError) {
  const testing::TemporaryFolder folder;
  write_npz(folder / "t.npz", {{"x", Tensor::of<float>({3}, {1, 2, 3})}}, GetParam());
  const std::string good = read_file(folder / "t.npz");
  for (size_t size = 0; size < good.size(); ++size) {
    const std::string path = folder.file("cut.npz", good.substr(0, size));
    EXPECT_THAT(testing::user_error([&] { read_npz(path); }), HasSubstr("cut.npz")) << size;
  }
}

TEST_P(NpzRoundTrip, FlippedBytesNeverPassUnnoticedInTheContent) {
  const testing::TemporaryFolder folder;
  const Tensor tensor = Tensor::of<float>({3}, {1, 2, 3});
  write_npz(folder / "t.npz", {{"x", tensor}}, GetParam());
  const std::string good = read_file(folder / "t.npz");
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    const std::string path = folder.file("bad.npz", bad);
    try {
      const auto read = read_npz(path);
      // Dates, names and comments carry no checksum; elements do.
      for (const auto& [name, value] : read) EXPECT_TRUE(identical(value, tensor)) << i;
    } catch (const UserError&) {
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, NpzRoundTrip, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "deflated" : "stored"; });

TEST(Npz, DeflationShrinksZeros) {
  const testing::TemporaryFolder folder;
  const std::map<std::string, Tensor> zeros{{"z", Tensor::zeros(ElementType::Float32, {100000})}};
  write_npz(folder / "t.npz", zeros, true);
  EXPECT_LT(read_file(folder / "t.npz").size(), 5000u);
  EXPECT_TRUE(identical(read_npz(folder / "t.npz").at("z"), zeros.at("z")));
}

TEST(Npz, RejectsOtherContent) {
  const testing::TemporaryFolder folder;
  ZipWriter text;
  text.add("readme.txt", "hello");
  EXPECT_THAT(testing::user_error([&] { read_npz(folder.file("t.npz", text.finish())); }),
              HasSubstr("readme.txt"));
  EXPECT_THROW(read_npz(folder.file("e.npz", ZipWriter().finish())), UserError);
  EXPECT_THROW(read_npz(folder / "missing.npz"), UserError);
}

TEST(Zip, AClaimedSizeBeyondDeflationIsRefusedBeforeAllocating) {
  const testing::TemporaryFolder folder;
  ZipWriter writer;
  writer.add("a", std::string(5000, 'a'), true);
  std::string bytes = writer.finish();
  const size_t directory = bytes.rfind("PK\x01\x02");
  for (int i = 0; i < 4; ++i) bytes[directory + 24 + static_cast<size_t>(i)] = i == 3 ? 0x7f : -1;
  const ZipReader reader(folder.file("bomb.zip", bytes));
  EXPECT_THAT(testing::user_error([&] { reader.read(reader.entries().at(0)); }),
              HasSubstr("absurd"));
}

}  // namespace
}  // namespace opsmith
