#include "support/timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "support/random.h"

namespace opsmith {
namespace {

TEST(Stopwatch, NeverRunsBackwards) {
  const Stopwatch watch;
  double last = watch.seconds();
  EXPECT_GE(last, 0);
  for (int i = 0; i < 1000; ++i) {
    const double now = watch.seconds();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(TimingSummary, OfNothingAndOfOneRun) {
  const TimingSummary nothing = summarize({});
  EXPECT_EQ(nothing.runs, 0U);
  EXPECT_EQ(nothing.centre, 0);
  const TimingSummary one = summarize({2.5});
  EXPECT_EQ(one.runs, 1U);
  EXPECT_EQ(one.centre, 2.5);
  EXPECT_EQ(one.median, 2.5);
  EXPECT_EQ(one.p90, 2.5);
  EXPECT_EQ(one.spread, 0);
  EXPECT_EQ(summarize({0, 0, 0}).spread, 0) << "no division by a median of 0";
}

TEST(TimingSummary, QuantilesOfElevenTimesAreTheTimesThemselves) {
  // With 11 sorted times the median is number 5, the 90 % point number 9; the quarters lie half way
  // between 2 and 3, and between 7 and 8.
  Random random(5);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<double> times;
    for (int i = 0; i < 11; ++i) times.push_back(random.uniform(0.5, 3));
    const TimingSummary summary = summarize(times);
    std::sort(times.begin(), times.end());
    const double low = (times[2] + times[3]) / 2, high = (times[7] + times[8]) / 2;
    EXPECT_DOUBLE_EQ(summary.median, times[5]);
    EXPECT_DOUBLE_EQ(summary.p90, times[9]);
    EXPECT_DOUBLE_EQ(summary.spread, (high - low) / times[5]);
    double sum = 3 * low + 3 * high;
    for (size_t i = 3; i < 8; ++i) sum += times[i];
    EXPECT_NEAR(summary.centre, sum / 11, 1e-12);
    EXPECT_GE(summary.centre, times.front());
  }
}

TEST(TimingOptions, TellHowOftenWorkIsCalled) {
  const auto runs = [](const TimingOptions& options) {
    std::pair<int, size_t> result{0, 0};
    result.second = measure([&] { ++result.first; }, options).runs;
    return result;
  };
  const double forever = std::numeric_limits<double>::infinity();
  EXPECT_EQ(runs({2, 5, 100, -1}), std::make_pair(7, size_t{5})) << "out of time: min_runs";
  EXPECT_EQ(runs({0, 5, 12, forever}), std::make_pair(12, size_t{12})) << "max_runs";
  EXPECT_EQ(runs({1, 5, 3, -1}), std::make_pair(4, size_t{3})) << "never above max_runs";
  EXPECT_EQ(runs({3, 0, 0, forever}), std::make_pair(3, size_t{0}));
}

TEST(MeasureInterleaved, TakesTurns) {
  std::string order;
  const auto summaries = measure_interleaved(
      {[&] { order += 'a'; }, [&] { order += 'b'; }, [&] { order += 'c'; }}, {1, 3, 3, 0});
  EXPECT_EQ(order, "abcabcabcabc");
  ASSERT_EQ(summaries.size(), 3U);
  for (const TimingSummary& summary : summaries) EXPECT_EQ(summary.runs, 3U);
  EXPECT_TRUE(measure_interleaved({}, {0, 1, 1, 0}).empty());
}

}  // namespace
}  // namespace opsmith
