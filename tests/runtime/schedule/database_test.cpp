#include "runtime/schedule/database.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "support/error.h"
#include "support/file.h"

namespace opsmith::schedule {
namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/opsmith_database_XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

ScheduleRow row(double seconds, int64_t factor) {
  ScheduleRow result;
  result.variant = "direct";
  result.schedule.directives.push_back({"split", "y", {"i", "io", "ii"}, factor, ""});
  result.seconds = seconds;
  result.measured = "1 thread";
  result.version = "0.1";
  return result;
}

const ScheduleKey kKey = {"class", "1,2", "f32 0;", "A/1/2 avx512 32K/1024K/32768K 1"};

TEST(ScheduleDatabase, FastestFirstAndLosersKept) {
  ScheduleDatabase database(":memory:");
  EXPECT_FALSE(database.best(kKey));
  database.add(kKey, row(2, 8));
  database.add(kKey, row(1, 16));
  database.add(kKey, row(3, 4));
  ASSERT_EQ(database.find(kKey).size(), 3U);
  EXPECT_EQ(database.best(kKey)->schedule.directives[0].factor, 16);
  ASSERT_EQ(database.list().size(), 1u);
  EXPECT_EQ(database.list()[0].rows, 3);
  EXPECT_DOUBLE_EQ(database.list()[0].seconds, 1);
  database.add(kKey, row(9, 16));  // measured again: the newer time stands
  EXPECT_EQ(database.size(), 3);
  EXPECT_EQ(database.best(kKey)->schedule.directives[0].factor, 8);
}

TEST(ScheduleDatabase, FallsBackToTheNearestCachesOfTheSameInstructionSet) {
  ScheduleDatabase database(":memory:");
  ScheduleKey other = kKey;
  other.target = "B/9/9 avx2 32K/1024K/32768K 1";
  database.add(other, row(0.1, 2));
  other.target = "A/1/2 avx512 32K/1024K/32768K 2";  // another number of threads
  database.add(other, row(0.1, 2));
  EXPECT_FALSE(database.best(kKey));
  other.target = "B/9/9 avx512 32K/2048K/65536K 1";
  database.add(other, row(5, 4));
  other.target = "B/9/9 avx512 48K/1024K/32768K 1";
  database.add(other, row(6, 8));
  EXPECT_EQ(database.best(kKey)->schedule.directives[0].factor, 8);
  database.add(kKey, row(7, 16));
  EXPECT_EQ(database.best(kKey)->schedule.directives[0].factor, 16);
  other.parameters = "1,3";
  EXPECT_FALSE(database.best(other));
}

TEST(ScheduleDatabase, KeepsMergesExportsAndPrunes) {
  const Folder folder;
  {
    ScheduleDatabase database(folder.file("a.db"));
    database.add(kKey, row(2, 8));
    database.add(kKey, row(1, 16));
  }
  ScheduleDatabase again(folder.file("a.db"));
  EXPECT_EQ(again.size(), 2);
  ScheduleDatabase second(folder.file("b.db"));
  second.add(kKey, row(3, 4));
  second.add(kKey, row(5, 16));
  EXPECT_EQ(second.merge(folder.file("a.db")), 1);
  EXPECT_EQ(second.merge(folder.file("a.db")), 0);
  second.export_to(folder.file("c.db"));
  EXPECT_EQ(ScheduleDatabase(folder.file("c.db")).size(), 3);
  EXPECT_THROW(second.export_to(folder.file("c.db")), UserError);
  EXPECT_THROW(second.merge(folder.file("none.db")), UserError);
  second.export_to(folder.file("c.json"));
  ScheduleDatabase third(":memory:");
  EXPECT_EQ(third.merge(folder.file("c.json")), 3);
  EXPECT_EQ(third.merge(folder.file("c.json")), 0);
  EXPECT_EQ(to_json(third.best(kKey)->schedule), to_json(second.best(kKey)->schedule));
  write_file(folder.file("bad.json"), "{\"class\": 3}\n");
  EXPECT_THROW(third.merge(folder.file("bad.json")), UserError);
  EXPECT_EQ(second.prune(1), 2);
  EXPECT_EQ(second.best(kKey)->schedule.directives[0].factor, 8);
}

TEST(ScheduleDatabase, DamagedFileIsSetAside) {
  const Folder folder;
  write_file(folder.file("a.db"), std::string(5000, 'x'));
  ScheduleDatabase database(folder.file("a.db"));
  database.add(kKey, row(1, 2));
  EXPECT_EQ(database.size(), 1);
  EXPECT_TRUE(std::filesystem::exists(folder.file("a.db.damaged")));
  EXPECT_THROW(database.merge(folder.file("a.db.damaged")), UserError);
  EXPECT_EQ(database.size(), 1);
}

KernelSpecification matrix_product(int64_t rows) {
  KernelSpecification specification;
  specification.program =
      expression::parse("program mm(x: f32[" + std::to_string(rows) +
                        ", 64]; w: f32[64, 48]) -> z\n  z: f32[m: " + std::to_string(rows) +
                        ", n: 48] = sum[f32](k: 64) x[m, k] * w[k, n]");
  specification.target = detect_target();
  return specification;
}

TEST(ScheduleDatabase, KeysSeparateClassFromParameters) {
  const ScheduleKey a = schedule_key(matrix_product(5));
  const ScheduleKey b = schedule_key(matrix_product(6));
  EXPECT_EQ(a.kernel_class, b.kernel_class);
  EXPECT_NE(a.parameters, b.parameters);
  KernelSpecification blocked = matrix_product(5);
  blocked.layouts["w"] = parse_layout("1,0,1/16");
  EXPECT_NE(schedule_key(blocked).layouts, a.layouts);
}

}  // namespace
}  // namespace opsmith::schedule
