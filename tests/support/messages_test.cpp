#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "support/error.h"
#include "support/log.h"
#include "support/progress.h"

// What is told on stderr: log messages and progress.

namespace opsmith {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// What `work` writes to stderr, which is no terminal.
template <typename Work>
std::string told(const Work& work) {
  ::testing::internal::CaptureStderr();
  work();
  return ::testing::internal::GetCapturedStderr();
}

/// What `work` writes to stderr while that is a terminal; the terminal turns "\n" to "\r\n".
template <typename Work>
std::string shown(const Work& work) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  require(terminal >= 0 && ::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0, "no terminal");
  const int inside = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(inside, STDERR_FILENO);
  work();
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::fcntl(terminal, F_SETFL, O_NONBLOCK);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(terminal, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  ::close(inside);
  ::close(terminal);
  return text;
}

int64_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

struct WithLevel {
  explicit WithLevel(LogLevel level) { set_log_level(level); }
  ~WithLevel() { set_log_level(LogLevel::Info); }
};

TEST(LogLevel, LetsThroughWhatIsAsGrave) {
  const auto all = [] {
    log_debug("one");
    log_info("two");
    log_warning("three");
    log_error("four {} %s");  // no format
  };
  const std::vector<std::pair<LogLevel, std::vector<std::string>>> cases = {
      {LogLevel::Debug, {"one", "two", "three", "four {} %s"}},
      {LogLevel::Info, {"two", "three", "four {} %s"}},
      {LogLevel::Warning, {"three", "four {} %s"}},
      {LogLevel::Error, {"four {} %s"}},
  };
  for (const auto& [level, messages] : cases) {
    const WithLevel set(level);
    const std::string text = told(all);
    EXPECT_EQ(lines(text), static_cast<int64_t>(messages.size())) << text;
    for (const std::string& message : messages) EXPECT_THAT(text, HasSubstr(": " + message + "\n"));
  }
}

TEST(LogLevel, NothingGoesToStdout) {
  ::testing::internal::CaptureStdout();
  told([] { log_error("x"); });
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(Progress, IsOneLineNowAndThenWithoutATerminal) {
  const std::string text = told([] {
    Progress progress("fitting", 1000);
    for (int i = 0; i < 1000; ++i) progress.advance("best 3");
  });
  // The first and the last; the loop takes far less than the seconds between two lines.
  EXPECT_EQ(lines(text), 2) << text;
  EXPECT_THAT(text, StartsWith("fitting 0/1000\n"));
  EXPECT_THAT(text, HasSubstr("\nfitting 1000/1000, "));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST(Progress, RewritesItsLineOnATerminal) {
  Stopwatch watch;
  const std::string text = shown([] {
    Progress progress("fitting", 4);
    for (int i = 0; i < 4; ++i) {
      ::usleep(120000);
      progress.advance("best " + std::to_string(i));
    }
    for (int i = 0; i < 100; ++i) progress.advance("often");
  });
  const double seconds = watch.seconds();
  EXPECT_EQ(lines(text), 1) << text;
  EXPECT_THAT(text, EndsWith(" s\r\n"));
  EXPECT_THAT(text, StartsWith("\r\033[Kfitting 0/4"));
  EXPECT_THAT(text, HasSubstr("\r\033[Kfitting 1/4, "));
  EXPECT_THAT(text, HasSubstr(" s left, best 0\r"));
  EXPECT_THAT(text, HasSubstr("\r\033[Kfitting 4/4, best 3"));
  const auto rewritten = std::count(text.begin(), text.end(), '\033');
  EXPECT_LE(static_cast<double>(rewritten), seconds / 0.1 + 2) << "at most ten times a second";
}

TEST(Progress, NeverPassesItsEnd) {
  EXPECT_THAT(told([] {
                Progress progress("work", 3);
                progress.advance("", 7);
              }),
              HasSubstr("work 3/3, "));
  EXPECT_THAT(told([] { const Progress progress("nothing", 0); }), HasSubstr("nothing 0/0, "));
}

TEST(Progress, CanBeTurnedOff) {
  Progress::set_enabled(false);
  const std::string text = told([] {
    Progress progress("work", 3);
    progress.advance();
  });
  Progress::set_enabled(true);
  EXPECT_EQ(text, "");
}

TEST(Interrupt, SetsTheFlagOnceAndThenEndsTheProcess) {
  catch_interrupt();
  EXPECT_FALSE(interrupted());
  std::raise(SIGINT);
  EXPECT_TRUE(interrupted());
  catch_interrupt();
  EXPECT_FALSE(interrupted()) << "armed afresh";
  std::signal(SIGINT, SIG_DFL);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        catch_interrupt();
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

TEST(Errors, RequireThrowsTheMessageOnlyWhenItMust) {
  EXPECT_NO_THROW(require(true, "x"));
  try {
    require(false, "why");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "why");
  }
  // A bug is not mistaken for bad input by a handler of the latter.
  const auto caught_as_input = [](const auto& error) {
    try {
      throw error;
    } catch (const std::runtime_error&) {
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
  EXPECT_TRUE(caught_as_input(UserError("")));
  EXPECT_TRUE(caught_as_input(Unsupported("")));
  EXPECT_FALSE(caught_as_input(InternalError("")));
}

}  // namespace
}  // namespace opsmith
