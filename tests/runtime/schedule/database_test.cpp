#include "runtime/schedule/database.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/error.h"
#include "support/file.h"

namespace opsmith::schedule {
namespace {

namespace fs = std::filesystem;

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest() {
    std::string name = (fs::temp_directory_path() / "opsmith-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~DatabaseTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name = "schedules.db") const { return folder_ / name; }

  fs::path folder_;
};

KernelKey key(const std::string& target = "AMD/25/17 avx512 32K/1024K/32768K 1",
              std::vector<int64_t> parameters = {64, 56, 3}) {
  return {"0123", std::move(parameters), "f32 row-major", target};
}

ScheduleRecord record(const std::string& variant, double milliseconds, int64_t factor = 14) {
  Directive split{"split", "z", {"w"}, factor, ""};
  return {variant, Schedule{{split}}, milliseconds, "20 runs, warm"};
}

TEST_F(DatabaseTest, KeepsLosersAndFindsTheFastest) {
  const auto database = ScheduleDatabase::open(path());
  EXPECT_FALSE(database->best(key()).has_value());
  database->add(key(), record("direct", 2.0, 14));
  database->add(key(), record("direct", 1.5, 7));
  database->add(key(), record("winograd", 3.0));
  const auto best = database->best(key());
  ASSERT_TRUE(best.has_value());
  EXPECT_TRUE(best->exact_target);
  EXPECT_EQ(best->record.milliseconds, 1.5);
  EXPECT_EQ(best->record.schedule.directives.at(0).factor, 7);
  EXPECT_EQ(database->all(key()).size(), 3u);
  EXPECT_EQ(database->list().size(), 1u);
  EXPECT_EQ(database->list()[0].records, 3);
  EXPECT_EQ(database->prune(1), 2);
  EXPECT_EQ(database->all(key()).size(), 1u);
}

TEST_F(DatabaseTest, SurvivesReopening) {
  ScheduleDatabase::open(path())->add(key(), record("direct", 2.0));
  EXPECT_TRUE(ScheduleDatabase::open(path())->best(key()).has_value());
}

TEST_F(DatabaseTest, FallsBackToTheNearestCachesOfTheSameInstructionSet) {
  const auto database = ScheduleDatabase::open(path());
  database->add(key("Intel/6/85 avx512 32K/1024K/16384K 1"), record("near", 5));
  database->add(key("Intel/6/106 avx512 48K/2048K/65536K 1"), record("far", 1));
  database->add(key("Intel/6/60 avx2 32K/1024K/32768K 1"), record("other set", 1));
  const auto best = database->best(key());
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->record.variant, "near");
  EXPECT_FALSE(best->exact_target);
  database->add(key(), record("exact", 9));
  EXPECT_EQ(database->best(key())->record.variant, "exact");
  EXPECT_FALSE(database->best(key("Arm/0/0 neon 64K/1M/1M 1")).has_value());
}

TEST_F(DatabaseTest, OffersRelativesOfTheClass) {
  const auto database = ScheduleDatabase::open(path());
  database->add(key(), record("self", 1));
  KernelKey other = key();
  other.parameters = {128, 28, 3};
  database->add(other, record("slow", 4));
  database->add(other, record("fast", 2));
  const auto relatives = database->relatives(key());
  ASSERT_EQ(relatives.size(), 1u);
  EXPECT_EQ(relatives[0].record.variant, "fast");
  EXPECT_EQ(relatives[0].key.parameters, other.parameters);
}

TEST_F(DatabaseTest, SetsADamagedFileAside) {
  write_file(path(), std::string(5000, 'x'));
  const auto database = ScheduleDatabase::open(path());
  database->add(key(), record("direct", 1));
  EXPECT_TRUE(fs::exists(path() + ".damaged"));
  EXPECT_TRUE(ScheduleDatabase::open(path())->best(key()).has_value());
}

TEST_F(DatabaseTest, MergesAndExports) {
  const auto first = ScheduleDatabase::open(path("a.db"));
  first->add(key(), record("one", 1));
  const auto second = ScheduleDatabase::open(path("b.db"));
  second->add(key(), record("one", 7));  // known already: the record here stays
  second->add(key(), record("two", 2));
  second->export_to(path("copy.db"));
  EXPECT_EQ(first->merge(path("copy.db")), 1);
  EXPECT_EQ(first->all(key()).size(), 2u);
  EXPECT_EQ(first->best(key())->record.milliseconds, 1);
  write_file(path("bad.db"), "no database at all, but long enough to be read as one");
  EXPECT_THROW(first->merge(path("bad.db")), UserError);
  EXPECT_THROW(first->merge(path("missing.db")), UserError);
  EXPECT_THROW(first->export_to(path("no/such/folder.db")), UserError);
}

TEST_F(DatabaseTest, IsSharedByConnectionsAndThreads) {
  const auto writer = [&](int64_t base) {
    const auto database = ScheduleDatabase::open(path());
    for (int64_t i = 0; i < 50; ++i) {
      database->add(key(), record("direct", static_cast<double>(base + i), base + i));
    }
  };
  std::thread other(writer, 1000);
  writer(1);
  other.join();
  EXPECT_EQ(ScheduleDatabase::open(path())->all(key()).size(), 100u);
}

}  // namespace
}  // namespace opsmith::schedule
