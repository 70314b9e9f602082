#include "support/tensor_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/npy.h"
#include "support/npz.h"
#include "support/onnx_tensor.h"
#include "tests/support/temporary_folder.h"

namespace opsmith {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kOne{"x"};
const std::vector<std::string> kTwo{"x", "y"};

Tensor numbers(int64_t samples, float first = 0) {
  Tensor tensor(ElementType::Float32, {samples, 2});
  for (float& v : tensor.data<float>()) v = first++;
  return tensor;
}

TEST(TensorSource, SplitsNamePathAndSamples) {
  const TensorSource full = parse_tensor_source("image=data/a.npy[10:20]");
  EXPECT_EQ(full.name, "image");
  EXPECT_EQ(full.path, "data/a.npy");
  EXPECT_EQ(full.samples.begin, 10);
  EXPECT_EQ(full.samples.end, 20);
  const TensorSource bare = parse_tensor_source("a.npy");
  EXPECT_EQ(bare.name, "");
  EXPECT_TRUE(bare.samples.all());
  EXPECT_EQ(parse_tensor_source("a.npy[:7]").samples.end, 7);
  EXPECT_EQ(parse_tensor_source("a.npy[7:]").samples.begin, 7);
}

TEST(TensorSource, AFileWithAnEqualsSignKeepsIt) {
  const testing::TemporaryFolder folder;
  write_npy(folder / "a=b.npy", numbers(1));
  const TensorSource source = parse_tensor_source(folder / "a=b.npy");
  EXPECT_EQ(source.name, "");
  EXPECT_EQ(source.path, folder / "a=b.npy");
}

TEST(TensorSource, RejectsMalformedSamples) {
  for (const char* text : {"a.npy[]", "a.npy[3]", "a.npy[a:b]", "a.npy[-1:2]", "x=", "a]"}) {
    EXPECT_THROW(parse_tensor_source(text), UserError) << text;
  }
}

TEST(LoadTensors, NpyTakesTheOnlyInputOrTheGivenName) {
  const testing::TemporaryFolder folder;
  write_npy(folder / "a.npy", numbers(3));
  EXPECT_TRUE(identical(load_tensors({"", folder / "a.npy", {}}, kOne).at("x"), numbers(3)));
  EXPECT_TRUE(identical(load_tensors({"y", folder / "a.npy", {}}, kTwo).at("y"), numbers(3)));
  EXPECT_THAT(testing::user_error([&] {
                load_tensors({"", folder / "a.npy", {}}, kTwo);
              }),
              HasSubstr("NAME="));
}

TEST(LoadTensors, NpzNamesItsArrays) {
  const testing::TemporaryFolder folder;
  write_npz(folder / "two.npz", {{"x", numbers(2)}, {"y", numbers(2, 9)}});
  const auto both = load_tensors({"", folder / "two.npz", {0, 1}}, kTwo);
  EXPECT_TRUE(identical(both.at("x"), numbers(1)));
  EXPECT_TRUE(identical(both.at("y"), numbers(1, 9)));
  EXPECT_THROW(load_tensors({"x", folder / "two.npz", {}}, kTwo), UserError);
  write_npz(folder / "one.npz", {{"arr_0", numbers(2)}});
  EXPECT_TRUE(load_tensors({"", folder / "one.npz", {}}, kOne).contains("x"));
}

TEST(LoadTensors, FoldersOfTestDataAreStacked) {
  const testing::TemporaryFolder folder;
  for (int set = 0; set < 2; ++set) {
    const std::string name = folder / ("test_data_set_" + std::to_string(set));
    make_folder(name);
    write_onnx_tensor(name + "/input_0.pb", {"", numbers(2, static_cast<float>(4 * set))});
    write_onnx_tensor(name + "/input_1.pb", {"y", numbers(1)});
    write_onnx_tensor(name + "/output_0.pb", {"z", numbers(1)});
  }
  const auto all = load_tensors({"", folder.path(), {}}, kTwo);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(identical(all.at("x"), numbers(4)));
  EXPECT_EQ(all.at("y").shape(), (Shape{2, 2}));
  const auto one = load_tensors({"", folder / "test_data_set_1", {}}, kTwo);
  EXPECT_TRUE(identical(one.at("x"), numbers(2, 4)));
  make_folder(folder / "empty");
  EXPECT_THROW(load_tensors({"", folder / "empty", {}}, kTwo), UserError);
}

TEST(LoadTensors, IdxImagesBecomeOneChannelFloats) {
  const testing::TemporaryFolder folder;
  std::string images("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02", 16);
  images += std::string("\x01\xff\x03\x04", 4);
  const std::string path = folder.file("images-idx3-ubyte", images);
  EXPECT_TRUE(identical(load_tensors({"", path, {}}, kOne).at("x"),
                        Tensor::of<float>({2, 1, 1, 2}, {1, 255, 3, 4})));
  const std::string labels =
      folder.file("labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\x02\x07\x09", 10));
  EXPECT_TRUE(
      identical(load_tensors({"", labels, {}}, kOne).at("x"), Tensor::of<int64_t>({2}, {7, 9})));
}

TEST(LoadTensors, ErrorsNameTheFile) {
  const testing::TemporaryFolder folder;
  EXPECT_THAT(testing::user_error([&] {
                load_tensors({"", folder / "no.npy", {}}, kOne);
              }),
              HasSubstr("no.npy' does not exist"));
  EXPECT_THAT(testing::user_error([&] {
                load_tensors({"", folder.file("a.csv", "1,2"), {}}, kOne);
              }),
              HasSubstr("no known extension"));
  EXPECT_THAT(testing::user_error([&] {
                load_tensors({"", folder.file("a.pb", "1,2"), {}}, kOne);
              }),
              HasSubstr("a.pb"));
  write_npy(folder / "a.npy", numbers(3));
  const std::vector<TensorSource> twice{{"", folder / "a.npy", {}}, {"x", folder / "a.npy", {}}};
  EXPECT_THAT(testing::user_error([&] { load_tensors(twice, kOne); }), HasSubstr("second time"));
}

TEST(SaveTensors, ByExtension) {
  const testing::TemporaryFolder folder;
  const std::map<std::string, Tensor> one{{"x", numbers(2)}};
  for (const char* name : {"a.npz", "a.npy", "a.pb"}) {
    save_tensors(folder / name, one);
    EXPECT_TRUE(identical(load_tensors({"", folder / name, {}}, kOne).at("x"), numbers(2)));
  }
  EXPECT_THROW(save_tensors(folder / "a.txt", one), UserError);
  EXPECT_THROW(save_tensors(folder / "a.npy", {{"x", numbers(1)}, {"y", numbers(1)}}), UserError);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.txt"));
}

TEST(StackSamples, NeedsEqualShapesBeyondTheFirstDimension) {
  const std::vector<Tensor> different{numbers(1), Tensor::zeros(ElementType::Float32, {1, 3})};
  EXPECT_THROW(stack_samples(different, "s"), UserError);
  const std::vector<Tensor> scalars{Tensor::scalar(1.f), Tensor::scalar(2.f)};
  EXPECT_THROW(stack_samples(scalars, "s"), UserError);
}

}  // namespace
}  // namespace opsmith
