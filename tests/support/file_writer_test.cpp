#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "support/file.h"
#include "tests/support/temporary_folder.h"

namespace opsmith {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

int64_t entries(const std::string& folder) {
  return std::distance(fs::directory_iterator(folder), {});
}

unsigned permissions(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0777U : 0U;
}

TEST(FileWriter, JoinsThePiecesAtCommit) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("a", "before");
  std::string expected;
  {
    FileWriter writer(path);
    for (int i = 0; i < 1000; ++i) {
      const std::string piece(static_cast<size_t>(i % 7), static_cast<char>(i));
      writer.write(piece);
      expected += piece;
    }
    EXPECT_EQ(read_file(path), "before") << "readers see the old file until commit";
    writer.commit();
  }
  EXPECT_EQ(read_file(path), expected);
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(FileWriter, LeavesNothingWithoutCommit) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("a", "before");
  {
    FileWriter writer(path);
    writer.write("half");
    EXPECT_EQ(entries(folder.path()), 2);
  }
  EXPECT_EQ(read_file(path), "before");
  EXPECT_EQ(entries(folder.path()), 1);
  { const FileWriter writer(folder / "new"); }
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(FileWriter, TwoOfOneFileDoNotMix) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "a";
  FileWriter first(path), second(path);
  first.write("first");
  second.write("second");
  second.commit();
  EXPECT_EQ(read_file(path), "second");
  first.commit();
  EXPECT_EQ(read_file(path), "first");
}

TEST(FileWriter, OwnerOnlyHoldsFromTheFirstByteOn) {
  const testing::TemporaryFolder folder;
  FileWriter writer(folder / "secret", /*owner_only=*/true);
  writer.write("x");
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    EXPECT_EQ(permissions(entry.path()), 0600U) << entry.path();
  }
  writer.commit();
  EXPECT_EQ(permissions(folder / "secret"), 0600U);
}

TEST(FileWriter, EveryFaultNamesTheDestination) {
  const testing::TemporaryFolder folder;
  const std::string nowhere = folder / "no/such/folder/a";
  EXPECT_THAT(testing::user_error([&] { const FileWriter writer(nowhere); }), HasSubstr(nowhere));

  // A folder stands where the file is to go.
  make_folder(folder / "taken");
  {
    FileWriter writer(folder / "taken");
    writer.write("x");
    EXPECT_THAT(testing::user_error([&] { writer.commit(); }), HasSubstr(folder / "taken"));
  }
  EXPECT_EQ(entries(folder.path()), 1) << "the file beside it is removed";

  FileWriter writer(folder / "a");
  writer.commit();
  EXPECT_THAT(testing::user_error([&] { writer.write("late"); }), HasSubstr(folder / "a"));
  EXPECT_THAT(testing::user_error([&] { writer.commit(); }), HasSubstr(folder / "a"));
  EXPECT_EQ(read_file(folder / "a"), "");
}

TEST(MappedFile, OutlivesItsNameAndNeverWritesBack) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("a", "content");
  const auto mapped = MappedFile::open(path);
  const_cast<char*>(mapped->bytes().data())[0] = 'K';
  EXPECT_EQ(mapped->bytes(), "Kontent");
  EXPECT_EQ(read_file(path), "content");
  fs::remove(path);
  EXPECT_EQ(mapped->bytes(), "Kontent");
  EXPECT_EQ(MappedFile::open(folder.file("empty", ""))->bytes(), "");
  EXPECT_THAT(testing::user_error([&] { MappedFile::open(path); }), HasSubstr(path));
  EXPECT_THAT(testing::user_error([&] { MappedFile::open(folder.path()); }),
              HasSubstr(folder.path()));
}

TEST(MakeFolder, MakesParentsAndKeepsWhatIsThere) {
  const testing::TemporaryFolder folder;
  make_folder(folder / "a/b/c/", /*owner_only=*/true);
  EXPECT_EQ(permissions(folder / "a/b/c"), 0700U);
  fs::permissions(folder / "a/b", fs::perms(0750));
  make_folder(folder / "a/b", /*owner_only=*/true);
  EXPECT_EQ(permissions(folder / "a/b"), 0750U) << "not ours to change";
  folder.file("plain", "x");
  EXPECT_THAT(testing::user_error([&] { make_folder(folder / "plain"); }),
              HasSubstr(folder / "plain"));
}

TEST(PageOut, LosesNothing) {
  const testing::TemporaryFolder folder;
  std::string bytes(100000, 'a');
  bytes[70000] = 'b';
  const auto mapped = MappedFile::open(folder.file("mapped", bytes));
  page_out(mapped->bytes().data(), mapped->bytes().size());
  EXPECT_EQ(mapped->bytes(), bytes);
  const std::string copy = bytes;
  page_out(bytes.data(), bytes.size());  // plain memory
  EXPECT_EQ(bytes, copy);
  page_out(bytes.data() + 10, 20);  // no whole page
  page_out(nullptr, 0);
  EXPECT_EQ(bytes, copy);
}

}  // namespace
}  // namespace opsmith
