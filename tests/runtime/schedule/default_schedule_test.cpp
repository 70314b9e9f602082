#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/expression/text.h"
#include "runtime/schedule/schedule.h"

// What the rules promise of the schedules that they write; that such schedules compute what they
// should is tested with the compiler.

namespace opsmith::schedule {
namespace {

Schedule grouped_convolution(int64_t channels, int64_t groups, int64_t size, const char* target) {
  const auto n = [](int64_t value) { return std::to_string(value); };
  const std::string per_group = n(channels / groups);
  const expression::Program program = expression::parse(
      "program conv(x: f32[1, " + n(channels) + ", " + n(size) + ", " + n(size) + "]; w: f32[" +
      n(channels) + ", " + per_group + ", 3, 3]) -> z\n  z: f32[n: 1, o: " + n(channels) + ", h: " +
      n(size) + ", v: " + n(size) + "] = sum[f32](c: " + per_group + ", a: 3, b: 3) x[n, o/" +
      per_group + "*" + per_group + " + c, h + a - 1, v + b - 1] * w[o, c, a, b]");
  const Target machine = detect_target(target);
  Layout blocked = Layout::channel_blocked(4, machine.lanes(4));
  std::map<std::string, Layout> layouts{{"z", blocked}};
  blocked.halo = {{}, {}, {1, 1}, {1, 1}};
  layouts["x"] = blocked;
  return default_schedule(program, layouts, machine);
}

int64_t output_tile(const Schedule& schedule) {
  for (const Directive& directive : schedule.directives) {
    if (directive.kind == "split" && directive.axes.at(0) == "o") return directive.factor;
  }
  return 0;
}

TEST(DefaultSchedule, NoTileReachesFromOneGroupIntoTheNext) {
  for (const char* target : {"avx512", "avx2"}) {
    for (const int64_t channels : {64, 96, 128, 192, 256}) {
      for (const int64_t groups : {2, 3, 4}) {
        if (channels % (groups * 16) != 0) continue;
        for (const int64_t size : {5, 8, 14, 28}) {
          const int64_t tile = output_tile(grouped_convolution(channels, groups, size, target));
          ASSERT_GT(tile, 0);
          EXPECT_EQ(channels / groups % tile, 0)
              << target << " " << channels << " channels, " << groups << " groups, " << size;
        }
      }
    }
  }
}

TEST(DefaultSchedule, DepthwiseWalksThroughTheTapsOfARowInnermost) {
  const Schedule schedule = grouped_convolution(64, 64, 28, "avx512");
  std::vector<std::string> order;
  for (const Directive& directive : schedule.directives) {
    if (directive.kind == "reorder") order = directive.axes;  // the last one counts
  }
  const auto place = [&](const std::string& axis) {
    return std::find(order.begin(), order.end(), axis) - order.begin();
  };
  EXPECT_LT(place("a"), place("b"));
  EXPECT_LT(place("b"), place("v.i"));
}

}  // namespace
}  // namespace opsmith::schedule
