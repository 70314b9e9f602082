#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "search/output_folder.h"
#include "search/report/html.h"
#include "support/file.h"
#include "tests/support/temporary_folder.h"

// What a search leaves behind: its folder of results, and the figures of its report.

namespace opsmith::search {
namespace {

using opsmith::testing::TemporaryFolder;
using opsmith::testing::user_error;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    found[name] = entry.is_directory() ? "folder" : read_file(entry.path());
  }
  return found;
}

using Contents = std::map<std::string, std::string>;

TEST(OutputFolder, TakesAllFilesAtOnce) {
  const TemporaryFolder folder;
  make_folder(folder / "out");
  folder.file("out/a", "old");
  folder.file("out/kept", "kept");
  {
    OutputFolder output(folder / "out");
    write_file(output.staged("a"), "new");
    write_file(output.staged("b"), "b");
    EXPECT_EQ(read_file(folder / "out/a"), "old") << "until commit";
    EXPECT_FALSE(fs::exists(folder / "out/b"));
    output.commit();
  }
  EXPECT_EQ(contents(folder / "out"), (Contents{{"a", "new"}, {"b", "b"}, {"kept", "kept"}}));
}

TEST(OutputFolder, WithoutCommitEverythingIsAsBefore) {
  const TemporaryFolder folder;
  {
    const OutputFolder output(folder / "new");
    write_file(output.staged("a"), "a");
  }
  EXPECT_FALSE(fs::exists(folder / "new")) << "made here, and empty";
  make_folder(folder / "old");
  folder.file("old/a", "old");
  {
    const OutputFolder output(folder / "old");
    write_file(output.staged("a"), "new");
  }
  EXPECT_EQ(contents(folder / "old"), (Contents{{"a", "old"}}));
  { OutputFolder(folder / "none").commit(); }
  EXPECT_FALSE(fs::exists(folder / "none"));
}

TEST(OutputFolder, OfAKilledProcessNothingIsTakenOver) {
  const TemporaryFolder folder;
  make_folder(folder / "out");
  folder.file("out/a", "old");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const OutputFolder output(folder / "out");
    write_file(output.staged("a"), "half");
    write_file(output.staged("stale"), "x");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_file(folder / "out/a"), "old");
  // The next process may even have the number of the one that was killed.
  make_folder(folder / ("out/.staging." + std::to_string(::getpid())));
  folder.file("out/.staging." + std::to_string(::getpid()) + "/stale", "x");
  {
    OutputFolder output(folder / "out");
    write_file(output.staged("a"), "new");
    output.commit();
  }
  EXPECT_EQ(read_file(folder / "out/a"), "new");
  EXPECT_FALSE(fs::exists(folder / "out/stale"));
  // Nothing that was left is there any more.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "out"), fs::directory_iterator()), 1);
}

TEST(OutputFolder, TwoOfOneFolderDoNotMix) {
  const TemporaryFolder folder;
  std::optional<OutputFolder> first(std::in_place, folder / "out");
  OutputFolder second(folder / "out");
  write_file(first->staged("a"), "first");
  write_file(second.staged("b"), "second");
  first.reset();
  second.commit();
  EXPECT_EQ(read_file(folder / "out/b"), "second");
  EXPECT_FALSE(fs::exists(folder / "out/a"));
}

TEST(OutputFolder, SaysWhereItCannotWrite) {
  const TemporaryFolder folder;
  folder.file("plain", "x");
  EXPECT_THAT(user_error([&] { OutputFolder(folder / "plain"); }), HasSubstr(folder / "plain"));
  EXPECT_THAT(user_error([&] { OutputFolder(folder / "plain/sub"); }), HasSubstr("plain/sub"));
  // A kernel file system, in which nobody makes folders.
  EXPECT_THAT(user_error([&] { OutputFolder("/proc/self"); }), HasSubstr("/proc/self"));
  // A folder stands where a file is to go; then the staging folder disappears.
  make_folder(folder / "out/a");
  OutputFolder output(folder / "out");
  write_file(output.staged("a"), "x");
  EXPECT_THAT(user_error([&] { output.commit(); }), HasSubstr("a"));
  fs::remove_all(fs::path(output.staged("a")).parent_path());
  EXPECT_NE(user_error([&] { output.commit(); }), "");
}

/// The tags of a text that must be well-formed: every one closed in its order, no stray sign.
/// Attributes are taken off. Fails the test where it is not.
std::vector<std::string> tags(const std::string& text) {
  std::vector<std::string> open, all;
  for (size_t at = 0; at < text.size(); ++at) {
    EXPECT_NE(text[at], '>') << "stray, at " << at;
    if (text[at] == '&') {
      const size_t end = text.find(';', at);
      EXPECT_TRUE(end != std::string::npos && end - at < 8) << "stray & at " << at;
    }
    if (text[at] != '<') continue;
    size_t end = at + 1;
    for (bool quoted = false; end < text.size() && (quoted || text[end] != '>'); ++end) {
      if (text[end] == '"') quoted = !quoted;
      EXPECT_NE(text[end], '<') << "in a tag, at " << end;
    }
    const std::string tag = text.substr(at + 1, end - at - 1);
    if (tag.starts_with('/')) {
      EXPECT_FALSE(open.empty());
      if (!open.empty()) {
        EXPECT_EQ(tag.substr(1), open.back());
        open.pop_back();
      }
    } else {
      const std::string name = tag.substr(0, tag.find_first_of(" /"));
      all.push_back(name);
      if (!tag.ends_with('/')) open.push_back(name);
    }
    at = end;
  }
  EXPECT_TRUE(open.empty());
  return all;
}

bool is_utf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const size_t more = byte < 0x80       ? 0
                        : byte >> 5 == 6  ? 1
                        : byte >> 4 == 14 ? 2
                        : byte >> 3 == 30 ? 3
                                          : 9;
    if (more == 9 || i + more >= text.size()) return false;
    for (size_t j = 1; j <= more; ++j) {
      if ((static_cast<uint8_t>(text[i + j]) & 0xc0) != 0x80) return false;
    }
    i += more + 1;
  }
  return true;
}

const std::string kHostile = "</svg><script>\"a\" & 'b'";

TEST(Html, EscapesWhatMeansSomething) {
  EXPECT_EQ(escape("<a b=\"c\" d='e'>&amp;"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;");
  EXPECT_EQ(escape("plain µs"), "plain µs");
  EXPECT_EQ(escape(""), "");
  EXPECT_EQ(format("%.2f", 1.005e3), "1005.00");
}

TEST(BarPair, ChartsAreWellFormed) {
  for (size_t rows = 0; rows < 4; ++rows) {
    std::vector<BarPair> bars(rows, {kHostile, 3, 1.5});
    const std::string chart = bar_chart(bars, " ms & more", "%.1f");
    const auto found = tags(chart);
    EXPECT_EQ(std::count(found.begin(), found.end(), "rect"), static_cast<int64_t>(2 * rows));
    EXPECT_THAT(chart, Not(HasSubstr("<script")));
    EXPECT_EQ(chart.find("1.5 ms &amp; more") != std::string::npos, rows > 0);
  }
}

TEST(BarPair, BarsAreAsLongAsTheirValues) {
  const auto width = [](const std::string& chart, size_t which) {
    size_t at = 0;
    for (size_t i = 0; i <= which; ++i) at = chart.find(" width=\"", at) + 8;
    return std::stod(chart.substr(at));
  };
  const std::string chart = bar_chart({{"a", 8, 2}, {"b", 4, 0}}, "", "%.0f");
  const double full = width(chart, 0);
  EXPECT_NEAR(width(chart, 1), full / 4, 0.1);
  EXPECT_NEAR(width(chart, 2), full / 2, 0.1);
  EXPECT_LE(width(chart, 3), 1) << "nothing, but visible";
  EXPECT_THAT(bar_chart({{"a", 0, 0}}, "", "%.0f"), Not(HasSubstr("nan")));
}

TEST(BarPair, LongNamesAreCutBetweenCharacters) {
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string name(shift, 'x');
    for (int i = 0; i < 20; ++i) name += "äé\xe2\x82\xac";
    const std::string chart = bar_chart({{name, 1, 1}}, "", "%.0f");
    EXPECT_TRUE(is_utf8(chart)) << chart;
    EXPECT_THAT(chart, HasSubstr("…"));
    EXPECT_THAT(chart, Not(HasSubstr(name)));
  }
  EXPECT_THAT(bar_chart({{"short", 1, 1}}, "", "%.0f"), HasSubstr(">short<"));
}

TEST(ScatterPoint, PlotsAreWellFormedAndInsideTheirFrame) {
  const std::vector<std::vector<ScatterPoint>> cases = {
      {{kHostile, 1, 90.5, false}, {"b", 3, 91.5, true}},
      {{"same", 2, 50, false}, {"place", 2, 50, true}},
      {{"zero", 0, 0, false}, {"zero", 0, 0, true}},
      {{"a", 1e-9, -1e9, false}, {"b", 1e9, 1e9, true}, {"c", 5e8, 0, false}},
  };
  for (const auto& points : cases) {
    const std::string plot = scatter_plot(points, kHostile, "top-1 & <%>");
    const auto found = tags(plot);
    EXPECT_EQ(std::count(found.begin(), found.end(), "circle"),
              static_cast<int64_t>(points.size()));
    EXPECT_THAT(plot, Not(HasSubstr("nan")));
    EXPECT_THAT(plot, Not(HasSubstr("inf")));
    EXPECT_THAT(plot, Not(HasSubstr("<script")));
    for (size_t at = plot.find("cx=\""); at != std::string::npos; at = plot.find("cx=\"", at + 1)) {
      const double x = std::stod(plot.substr(at + 4));
      const double y = std::stod(plot.substr(plot.find("cy=\"", at) + 4));
      EXPECT_TRUE(x >= 80 && x <= 640 && y >= 20 && y <= 240) << x << " " << y;
    }
  }
}

TEST(StyleSheet, ClosesItsBraces) {
  int depth = 0;
  for (const char c : style_sheet()) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    ASSERT_GE(depth, 0);
  }
  EXPECT_EQ(depth, 0);
  EXPECT_THAT(style_sheet(), Not(HasSubstr("</")));
}

}  // namespace
}  // namespace opsmith::search
