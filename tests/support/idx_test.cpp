#include "support/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/support/temporary_folder.h"

namespace opsmith {
namespace {

using ::testing::HasSubstr;

std::string big_endian(uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8),
          static_cast<char>(v)};
}

/// Three images of 2x2: 0 to 11.
std::string images() {
  std::string bytes =
      std::string("\0\0\x08\x03", 4) + big_endian(3) + big_endian(2) + big_endian(2);
  for (char i = 0; i < 12; ++i) bytes += i;
  return bytes;
}

std::string gzip(const testing::TemporaryFolder& folder, const std::string& name,
                 const std::string& bytes) {
  const std::string path = folder / name;
  gzFile file = gzopen(path.c_str(), "wb");
  EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  gzclose(file);
  return path;
}

TEST(Idx, ReadsPlainAndGzipped) {
  const testing::TemporaryFolder folder;
  std::vector<uint8_t> values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const Tensor expected = Tensor::of<uint8_t>({3, 2, 2}, values);
  EXPECT_TRUE(identical(read_idx(folder.file("a-idx3-ubyte", images())), expected));
  EXPECT_TRUE(identical(read_idx(gzip(folder, "a-idx3-ubyte.gz", images())), expected));
}

TEST(Idx, ReadsOnlyTheChosenSamples) {
  const testing::TemporaryFolder folder;
  const std::string path = gzip(folder, "a-idx3-ubyte.gz", images());
  EXPECT_TRUE(identical(read_idx(path, {1, 2}), Tensor::of<uint8_t>({1, 2, 2}, {4, 5, 6, 7})));
  EXPECT_THAT(testing::user_error([&] { read_idx(path, {0, 4}); }), HasSubstr("holds 3 samples"));
}

TEST(Idx, ReadsWiderBigEndianNumbers) {
  const testing::TemporaryFolder folder;
  const std::string bytes =
      std::string("\0\0\x0c\x01", 4) + big_endian(2) + big_endian(258) + big_endian(0xffffffff);
  EXPECT_TRUE(
      identical(read_idx(folder.file("i.idx", bytes)), Tensor::of<int32_t>({2}, {258, -1})));
}

TEST(Idx, RejectsDamageNamingTheFile) {
  const testing::TemporaryFolder folder;
  const std::string good = images();
  for (size_t size = 0; size < good.size(); ++size) {
    const std::string path = folder.file("cut.idx", good.substr(0, size));
    EXPECT_THAT(testing::user_error([&] { read_idx(path); }), HasSubstr("cut.idx")) << size;
  }
  const std::string absurd = std::string("\0\0\x08\x03", 4) + big_endian(0xffffffff) +
                             big_endian(0xffffffff) + big_endian(0xffffffff);
  EXPECT_THAT(testing::user_error([&] { read_idx(folder.file("absurd.idx", absurd)); }),
              HasSubstr("more than the file can hold"));
  EXPECT_THROW(read_idx(folder.file("text.idx", "hello, world")), UserError);
  EXPECT_THROW(read_idx(folder / "missing.idx"), UserError);
  EXPECT_THROW(read_idx(folder.path()), UserError);

  const std::string packed = gzip(folder, "whole.gz", good + std::string(100000, 'x'));
  std::string bytes = read_file(packed);
  EXPECT_THROW(read_idx(folder.file("cut.gz", bytes.substr(0, 20))), UserError);
}

TEST(Idx, KnowsItsNames) {
  EXPECT_TRUE(has_idx_name("/data/t10k-images-idx3-ubyte.gz"));
  EXPECT_TRUE(has_idx_name("labels.idx"));
  EXPECT_FALSE(has_idx_name("/some-idx/file.npy"));
}

}  // namespace
}  // namespace opsmith
