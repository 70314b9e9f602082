#include "support/sample_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace opsmith {
namespace {

using ::testing::HasSubstr;

TEST(SampleRange, IsTakenOffThePath) {
  struct Case {
    std::string text, path;
    int64_t begin;
    std::optional<int64_t> end;
  };
  for (const Case& c :
       {Case{"a.npy", "a.npy", 0, {}}, Case{"a.npy[2:5]", "a.npy", 2, 5},
        Case{"a.npy[2:]", "a.npy", 2, {}}, Case{"a.npy[:5]", "a.npy", 0, 5},
        Case{"a[1].npy", "a[1].npy", 0, {}}, Case{"[1:2][3:4]", "[1:2]", 3, 4}, Case{"", "", 0, {}},
        Case{"a[007:008]", "a", 7, 8}, Case{"[0:1]", "", 0, 1}}) {
    std::string path = c.text;
    const SampleRange range = take_sample_range(path);
    EXPECT_EQ(path, c.path) << c.text;
    EXPECT_EQ(range.begin, c.begin) << c.text;
    EXPECT_EQ(range.end, c.end) << c.text;
    EXPECT_EQ(range.all(), c.begin == 0 && !c.end) << c.text;
  }
}

TEST(SampleRange, MalformedOnesAreRefusedByName) {
  for (const std::string text :
       {"a[]", "a[:]", "a[3]", "a[1:2:3]", "a[-1:2]", "a[1 :2]", "a[1:2]]", "a]", "]", "a[+1:2]",
        "a[0x1:2]", "a[1e3:]", "a[99999999999999999999:]", "a[:99999999999999999999]"}) {
    std::string path = text;
    EXPECT_THAT(testing::user_error([&] { take_sample_range(path); }), HasSubstr(text));
    EXPECT_EQ(path, text) << "left as it was";
  }
}

TEST(SampleRange, ResolvesWithinTheSamplesOnly) {
  for (int64_t count = 0; count < 5; ++count) {
    for (int64_t begin = -1; begin < 6; ++begin) {
      for (int64_t end = -1; end < 7; ++end) {
        SampleRange range{begin, std::nullopt};
        if (end < 6) range.end = end;
        const int64_t last = range.end.value_or(count);
        const bool valid = begin >= 0 && begin < last && last <= count;
        const std::string error = testing::user_error([&] {
          const SampleRange resolved = resolve(range, count, "file.npy");
          EXPECT_EQ(resolved.begin, begin);
          EXPECT_EQ(resolved.end, last);
        });
        EXPECT_EQ(error.empty(), valid) << count << " " << begin << " " << end;
        if (!valid) {
          EXPECT_THAT(error, HasSubstr("file.npy"));
        }
      }
    }
  }
}

TEST(SliceSamples, CopiesTheChosenOnes) {
  const Tensor tensor = Tensor::of<int16_t>({4, 1, 2}, {0, 1, 10, 11, 20, 21, 30, 31});
  EXPECT_TRUE(identical(slice_samples(tensor, {1, 3}, "f"),
                        Tensor::of<int16_t>({2, 1, 2}, {10, 11, 20, 21})));
  EXPECT_TRUE(
      identical(slice_samples(tensor, {3, {}}, "f"), Tensor::of<int16_t>({1, 1, 2}, {30, 31})));
  EXPECT_EQ(slice_samples(tensor, {}, "f").raw(), tensor.raw()) << "all: the tensor itself";
  EXPECT_NE(slice_samples(tensor, {0, 4}, "f").raw(), tensor.raw());
  EXPECT_THAT(testing::user_error([&] {
                slice_samples(tensor, {2, 5}, "f.npy");
              }),
              HasSubstr("f.npy"));
}

TEST(SliceSamples, HandlesTextAndEmptySamples) {
  const Tensor text = Tensor::of<std::string>({3, 2}, {"a", "b", "c", "d", "e", "f"});
  EXPECT_TRUE(identical(slice_samples(text, {1, 3}, "f"),
                        Tensor::of<std::string>({2, 2}, {"c", "d", "e", "f"})));
  const Tensor empty = Tensor::zeros(ElementType::Float32, {5, 0, 3});
  EXPECT_EQ(slice_samples(empty, {1, 4}, "f").shape(), (Shape{3, 0, 3}));
  const Tensor none = Tensor::zeros(ElementType::Float32, {0, 3});
  EXPECT_THAT(testing::user_error([&] { slice_samples(none, {0, 1}, "f"); }), HasSubstr("f"));
  const Tensor scalar = Tensor::scalar<float>(1);
  EXPECT_THAT(testing::user_error([&] {
                slice_samples(scalar, {0, 1}, "f");
              }),
              HasSubstr("scalar"));
}

}  // namespace
}  // namespace opsmith
