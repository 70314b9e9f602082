#include <gtest/gtest.h>

#include "runtime/schedule/schedule.h"
#include "support/error.h"

namespace opsmith::schedule {
namespace {

TEST(ScheduleJson, RoundTrip) {
  Schedule schedule;
  schedule.directives.push_back({"split", "y", {"w", "wo", "wi"}, 14, ""});
  schedule.directives.push_back({"tile", "y", {"wi"}, 0, ""});
  schedule.directives.push_back({"store", "t", {}, 0, "0,1,2,3,1/16"});
  const std::string text = to_json(schedule);
  const Schedule back = schedule_from_json(text);
  ASSERT_EQ(back.directives.size(), 3U);
  EXPECT_EQ(back.directives[0].axes, (std::vector<std::string>{"w", "wo", "wi"}));
  EXPECT_EQ(back.directives[0].factor, 14);
  EXPECT_EQ(back.directives[2].argument, "0,1,2,3,1/16");
  EXPECT_EQ(to_json(back), text);
}

TEST(ScheduleJson, DamageIsRejected) {
  for (const char* text : {"[", "[{}]", "[{\"kind\":1,\"stage\":\"y\"}]", "3x"}) {
    EXPECT_THROW(schedule_from_json(text), UserError) << text;
  }
}

TEST(Target, NamesAndKeys) {
  const Target target = detect_target("avx2", 2);
  EXPECT_EQ(target.lanes(4), 8);
  EXPECT_EQ(target.vector_registers, 16);
  EXPECT_NE(target.key().find("avx2"), std::string::npos);
  EXPECT_EQ(target.key().back(), '2');
  EXPECT_THROW(detect_target("sse9"), UserError);
}

}  // namespace
}  // namespace opsmith::schedule
