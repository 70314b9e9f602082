#include "runtime/compiler/object_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "support/file.h"
#include "tests/support/temporary_folder.h"

namespace opsmith::compiler {
namespace {

namespace fs = std::filesystem;
using opsmith::testing::TemporaryFolder;

KernelObject sample(int64_t number = 1) {
  KernelObject kernel;
  kernel.object = std::string(1000 + static_cast<size_t>(number), static_cast<char>(number));
  kernel.phases = {{"f", number, true}, {"g", 3, false}};
  kernel.arguments = {{"x", 64 * number, 8}};
  kernel.workspace_bytes = number;
  return kernel;
}

bool same(const std::optional<KernelObject>& a, const KernelObject& b) {
  return a && a->serialize() == b.serialize();
}

std::vector<std::string> files(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path());
  return found;
}

std::string told(const std::function<void()>& work) {
  ::testing::internal::CaptureStderr();
  work();
  return ::testing::internal::GetCapturedStderr();
}

int64_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(ObjectCache, FindsWhatWasAddedUnderItsKeyOnly) {
  const TemporaryFolder folder;
  ObjectCache cache(folder / "deep/er");
  EXPECT_EQ(cache.folder(), folder / "deep/er");
  EXPECT_FALSE(cache.find("a"));
  cache.add("a", sample(1));
  cache.add("b", sample(2));
  EXPECT_TRUE(same(cache.find("a"), sample(1)));
  EXPECT_TRUE(same(cache.find("b"), sample(2)));
  EXPECT_FALSE(cache.find("c"));
  EXPECT_FALSE(cache.find(""));
  cache.add("a", sample(3));
  EXPECT_TRUE(same(ObjectCache(folder / "deep/er").find("a"), sample(3)));
}

TEST(ObjectCache, IsReadableByItsOwnerAlone) {
  const TemporaryFolder folder;
  ObjectCache cache(folder / "objects");
  cache.add("a", sample());
  struct stat info {};
  ASSERT_EQ(::stat((folder / "objects").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_EQ(files(folder / "objects").size(), 1U);
  ASSERT_EQ(::stat(files(folder / "objects")[0].c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(ObjectCache, AnyFlippedByteIsAMissAndSetAside) {
  const TemporaryFolder folder;
  ObjectCache cache(folder.path());
  told([&] {
    cache.add("a", sample());
    const std::string file = files(folder.path()).at(0);
    const std::string good = read_file(file);
    for (size_t i = 0; i < good.size(); i += 13) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1);
      write_file(file, bad);
      EXPECT_FALSE(cache.find("a")) << "byte " << i;
      EXPECT_FALSE(fs::exists(file));
      EXPECT_EQ(read_file(file + ".damaged"), bad);
    }
    for (const std::string& bad : {std::string(), good.substr(0, 20), good + 'x'}) {
      write_file(file, bad);
      EXPECT_FALSE(cache.find("a"));
    }
    cache.add("a", sample());
    EXPECT_TRUE(same(cache.find("a"), sample()));
  });
}

TEST(ObjectCache, WarnsOfEitherFaultOnce) {
  const TemporaryFolder folder;
  make_folder(folder / "objects");
  ObjectCache cache(folder / "objects");
  EXPECT_EQ(lines(told([&] {
              for (const char* name : {"objects/a.kernel", "objects/b.kernel"}) {
                folder.file(name, "damage");
              }
              EXPECT_FALSE(cache.find("a"));
              EXPECT_FALSE(cache.find("b"));
            })),
            1);
  fs::remove_all(folder / "objects");
  EXPECT_EQ(lines(told([&] {
              cache.add("a", sample());
              cache.add("b", sample());
            })),
            1)
      << "the other fault is told too";
  // And the folder is used no more, even when it comes back.
  make_folder(folder / "objects");
  cache.add("a", sample());
  EXPECT_TRUE(files(folder / "objects").empty());
}

TEST(ObjectCache, WithoutAFolderItKeepsNothing) {
  ObjectCache none("none");
  EXPECT_EQ(none.folder(), "");
  none.add("a", sample());
  EXPECT_FALSE(none.find("a"));

  const TemporaryFolder folder;
  folder.file("plain", "x");
  std::optional<ObjectCache> impossible;
  EXPECT_EQ(lines(told([&] { impossible.emplace(folder / "plain/sub"); })), 1);
  EXPECT_EQ(impossible->folder(), "");
  EXPECT_EQ(told([&] { impossible->add("a", sample()); }), "");
  EXPECT_FALSE(impossible->find("a"));
  EXPECT_EQ(read_file(folder / "plain"), "x");
}

/// Adds and finds the same few keys over and over; false when something else was found.
bool hammer(ObjectCache& cache, int64_t first) {
  for (int64_t i = 0; i < 60; ++i) {
    const int64_t key = (first + i) % 4;
    const std::string name = std::to_string(key);
    const auto found = cache.find(name);
    if (found && !same(found, sample(key + 1))) return false;
    cache.add(name, sample(key + 1));
    if (!same(cache.find(name), sample(key + 1))) return false;
  }
  return true;
}

TEST(ObjectCache, ProcessesShareAFolder) {
  const TemporaryFolder folder;
  std::vector<pid_t> children;
  for (int64_t i = 0; i < 2; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ObjectCache cache(folder.path());
      ::_exit(hammer(cache, i) ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(files(folder.path()).size(), 4U) << "nothing half-written is left";
}

TEST(ObjectCache, ThreadsShareOne) {
  const TemporaryFolder folder;
  ObjectCache cache(folder.path());
  std::vector<char> right(3, 0);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < right.size(); ++i) {
    threads.emplace_back([&, i] { right[i] = hammer(cache, static_cast<int64_t>(i)) ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<char>(3, 1));
}

}  // namespace
}  // namespace opsmith::compiler
