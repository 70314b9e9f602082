#include "support/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "support/random.h"
#include "tests/support/temporary_folder.h"

namespace opsmith {
namespace {

using ::testing::HasSubstr;

/// A .npy file of version 1 with this header dictionary and body.
std::string npy(std::string header, const std::string& body) {
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + body;
}

template <typename T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class NpyRoundTrip : public ::testing::TestWithParam<ElementType> {};

TEST_P(NpyRoundTrip, KeepsEveryBitAtEveryRank) {
  const testing::TemporaryFolder folder;
  Random random(7);
  for (const Shape& shape :
       {Shape{}, Shape{1}, Shape{5}, Shape{2, 3}, Shape{4, 0, 2}, Shape{2, 3, 4, 5}}) {
    Tensor tensor(GetParam(), shape);
    auto* bytes = static_cast<uint8_t*>(tensor.raw());
    for (size_t i = 0; i < tensor.bytes(); ++i) {
      const auto byte = static_cast<uint8_t>(random.next());
      bytes[i] = GetParam() == ElementType::Bool ? byte & 1 : byte;
    }
    write_npy(folder / "t.npy", tensor);
    EXPECT_TRUE(identical(read_npy(folder / "t.npy"), tensor)) << to_string(shape);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, NpyRoundTrip,
                         ::testing::Values(ElementType::Float32, ElementType::Float64,
                                           ElementType::Float16, ElementType::Int8,
                                           ElementType::Int16, ElementType::Int32,
                                           ElementType::Int64, ElementType::UInt8,
                                           ElementType::UInt16, ElementType::UInt32,
                                           ElementType::UInt64, ElementType::Bool),
                         [](const auto& each) { return to_string(each.param); });

TEST(Npy, ReadsWhatNumpyWrites) {
  // numpy.save of numpy.array([[1.5, -2], [0, 3]], dtype='<f4'), byte for byte.
  const std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" + std::string(57, ' ');
  const Tensor tensor = parse_npy(npy(header, raw<float>({1.5f, -2, 0, 3})), "numpy");
  EXPECT_TRUE(identical(tensor, Tensor::of<float>({2, 2}, {1.5f, -2, 0, 3})));
}

TEST(Npy, ReadsFortranOrder) {
  const std::string bytes = npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }",
                                raw<int32_t>({1, 4, 2, 5, 3, 6}));
  EXPECT_TRUE(identical(parse_npy(bytes, "f"), Tensor::of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6})));
}

TEST(Npy, ReadsBigEndianNumbers) {
  const std::string bytes = npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }",
                                std::string("\x01\x02\xff\xfe", 4));
  EXPECT_TRUE(identical(parse_npy(bytes, "b"), Tensor::of<int16_t>({2}, {0x0102, -2})));
}

TEST(Npy, ReadsOnlyTheChosenSamples) {
  std::vector<int64_t> values(12);
  std::iota(values.begin(), values.end(), 0);
  const std::string bytes = npy_bytes(Tensor::of<int64_t>({4, 3}, values));
  EXPECT_TRUE(
      identical(parse_npy(bytes, "s", {1, 3}), Tensor::of<int64_t>({2, 3}, {3, 4, 5, 6, 7, 8})));
  EXPECT_TRUE(identical(parse_npy(bytes, "s", {3, std::nullopt}),
                        Tensor::of<int64_t>({1, 3}, {9, 10, 11})));
  EXPECT_THAT(testing::user_error([&] {
                parse_npy(bytes, "s", {1, 5});
              }),
              HasSubstr("'s' holds 4 samples"));
  EXPECT_THROW(parse_npy(bytes, "s", {2, 2}), UserError);
}

TEST(Npy, RejectsDamageNamingTheFile) {
  const std::string good = npy_bytes(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(testing::user_error([&] { parse_npy(good.substr(0, size), "cut.npy"); }),
                HasSubstr("'cut.npy'"))
        << size;
  }
  EXPECT_THROW(parse_npy(good + "x", "long"), UserError);
  const std::string body = raw<float>({1, 2});
  for (const char* header :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 2), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False}", "{}", ""}) {
    EXPECT_THROW(parse_npy(npy(header, body), "bad"), UserError) << header;
  }
}

TEST(Npy, RefusesTypesThatNumpyLacks) {
  EXPECT_THROW(npy_bytes(Tensor(ElementType::BFloat16, {2})), UserError);
  EXPECT_THROW(npy_bytes(Tensor(ElementType::String, {2})), UserError);
}

}  // namespace
}  // namespace opsmith
