#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <numeric>

#include "support/error.h"
#include "support/file.h"
#include "support/hash.h"
#include "support/parallel.h"
#include "support/random.h"
#include "support/timing.h"

namespace opsmith {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "opsmith-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
};

TEST(Hash, IsStableAndSeparatesFields) {
  EXPECT_EQ(Hasher().text("opsmith").number(7).hex(), Hasher().text("opsmith").number(7).hex());
  EXPECT_NE(Hasher().text("ab").text("c").hex(), Hasher().text("a").text("bc").hex());
  EXPECT_NE(Hasher().number(1).hex(), Hasher().number(256).hex());
  EXPECT_EQ(Hasher().hex().size(), 32u);
}

TEST(File, IsWrittenWholeAndLeavesNothingBeside) {
  const Folder folder;
  const std::string path = folder.path / "a.txt";
  write_file(path, "one");
  write_file(path, "two", true);
  EXPECT_EQ(read_file(path), "two");
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 1);
  EXPECT_EQ(MappedFile::open(path)->bytes(), "two");
}

TEST(File, NamesWhatItCannotDo) {
  const Folder folder;
  EXPECT_THROW(read_file(folder.path / "missing"), UserError);
  EXPECT_THROW(read_file(folder.path), UserError);
  EXPECT_THROW(write_file(folder.path / "no" / "such" / "folder", "x"), UserError);
  write_file(folder.path / "plain", "x");
  EXPECT_THROW(make_folder(folder.path / "plain" / "sub"), UserError);
}

TEST(File, SetsDamageAside) {
  const Folder folder;
  write_file(folder.path / "cache", "x");
  EXPECT_EQ(set_aside(folder.path / "cache"), (folder.path / "cache.damaged").string());
  EXPECT_FALSE(fs::exists(folder.path / "cache"));
  EXPECT_EQ(set_aside(folder.path / "cache"), "");
}

TEST(Parallel, VisitsEachIndexOnceAndPassesExceptionsOn) {
  std::vector<std::atomic<int>> seen(1000);
  parallel_for(1000, 4, [&](int64_t i) { ++seen[static_cast<size_t>(i)]; });
  for (const auto& count : seen) EXPECT_EQ(count, 1);
  EXPECT_THROW(parallel_for(100, 4,
                            [](int64_t i) {
                              if (i == 37) throw UserError("37");
                            }),
               UserError);
}

TEST(Random, HasTheMomentsItPromises) {
  Random random(3);
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double v = random.normal();
    sum += v;
    squares += v * v;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.03);
  for (int i = 0; i < 100; ++i) {
    const int64_t v = random.integer(-2, 2);
    EXPECT_TRUE(v >= -2 && v <= 2);
  }
}

TEST(Timing, CentreIgnoresOutliers) {
  std::vector<double> times(20, 1.0);
  times[0] = 100;
  times[1] = 0.01;
  const TimingSummary summary = summarize(times);
  EXPECT_DOUBLE_EQ(summary.centre, 1.0);
  EXPECT_DOUBLE_EQ(summary.median, 1.0);
  EXPECT_EQ(summary.runs, 20u);
}

}  // namespace
}  // namespace opsmith
