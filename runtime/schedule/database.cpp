#include "runtime/schedule/database.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <mutex>
#include <sstream>

#include "runtime/schedule/sqlite.h"
#include "support/file.h"
#include "support/log.h"

namespace opsmith::schedule {
namespace {

constexpr int kVersion = 1;  // of the table; another version is set aside
constexpr const char* kColumns =
    "kernel_class, parameters, layouts, target, variant, schedule, milliseconds, measurement";

void create_tables(sqlite3* database) {
  execute(database,
          "CREATE TABLE IF NOT EXISTS measurement ("
          "  kernel_class TEXT NOT NULL, parameters TEXT NOT NULL, layouts TEXT NOT NULL,"
          "  target TEXT NOT NULL, variant TEXT NOT NULL, schedule TEXT NOT NULL,"
          "  milliseconds REAL NOT NULL, measurement TEXT NOT NULL,"
          "  PRIMARY KEY (kernel_class, parameters, layouts, target, variant, schedule)"
          ") WITHOUT ROWID;"
          "PRAGMA user_version = " +
              std::to_string(kVersion));
}

/// Opens a file and proves it whole; throws DatabaseError otherwise.
DatabaseHandle open_checked(const std::string& path, bool read_only) {
  sqlite3* raw = nullptr;
  const int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  DatabaseHandle database(raw);
  check_sqlite(raw, code);
  sqlite3_busy_timeout(raw, 10000);
  {
    Statement check(raw, "PRAGMA quick_check(1)");
    if (!check.step() || check.text(0) != "ok") {
      throw DatabaseError("schedule database: '" + path + "' is damaged", SQLITE_CORRUPT);
    }
  }
  const int64_t found = [raw] {
    Statement version(raw, "PRAGMA user_version");
    version.step();
    return version.integer(0);
  }();
  if (found != kVersion && (read_only || found != 0)) {
    throw DatabaseError("schedule database: '" + path + "' has version " + std::to_string(found) +
                            ", this opsmith reads " + std::to_string(kVersion),
                        SQLITE_NOTADB);
  }
  if (!read_only) {
    execute(raw, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    create_tables(raw);
  }
  return database;
}

bool is_damage(const DatabaseError& error) {
  return error.code == SQLITE_CORRUPT || error.code == SQLITE_NOTADB;
}

std::vector<int64_t> parse_parameters(const std::string& text) {
  std::vector<int64_t> parameters;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) parameters.push_back(std::stoll(item));
  return parameters;
}

/// "machine isa L1/L2/L3 threads", as Target::key() writes it.
struct TargetParts {
  std::string instruction_set;
  std::string threads;
  std::vector<double> caches;
};

TargetParts split_target(const std::string& key) {
  TargetParts parts;
  std::istringstream stream(key);
  std::string machine, caches;
  stream >> machine >> parts.instruction_set >> caches >> parts.threads;
  std::istringstream sizes(caches);
  for (std::string item; std::getline(sizes, item, '/');) {
    parts.caches.push_back(std::atof(item.c_str()));
  }
  return parts;
}

/// Sum of the caches' ratios in octaves; infinite for another instruction set.
double target_distance(const std::string& a, const std::string& b) {
  if (a == b) return 0;
  const TargetParts left = split_target(a), right = split_target(b);
  if (left.instruction_set != right.instruction_set) {
    return std::numeric_limits<double>::infinity();
  }
  double distance = left.threads == right.threads ? 0.01 : 4;
  for (size_t i = 0; i < std::min(left.caches.size(), right.caches.size()); ++i) {
    if (left.caches[i] > 0 && right.caches[i] > 0) {
      distance += std::abs(std::log2(left.caches[i] / right.caches[i]));
    }
  }
  return distance;
}

/// The row under the cursor; columns as in kColumns. A schedule that does not parse is damage.
ScheduleMatch read_match(const Statement& row) {
  ScheduleMatch match;
  match.key = {row.text(0), parse_parameters(row.text(1)), row.text(2), row.text(3)};
  match.record = {row.text(4), schedule_from_json(row.text(5)), row.real(6), row.text(7)};
  return match;
}

}  // namespace

struct ScheduleDatabase::Connection {
  DatabaseHandle database;
  mutable std::mutex mutex;
};

ScheduleDatabase::ScheduleDatabase(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
ScheduleDatabase::~ScheduleDatabase() = default;

std::string ScheduleDatabase::default_path() { return cache_folder() + "/schedules.db"; }

std::shared_ptr<ScheduleDatabase> ScheduleDatabase::open(const std::string& path) {
  const std::string file = path.empty() ? default_path() : path;
  if (file != ":memory:") {
    const auto folder = std::filesystem::path(file).parent_path().string();
    if (!folder.empty()) make_folder(folder, true);
  }
  auto connection = std::make_unique<Connection>();
  try {
    connection->database = open_checked(file, false);
  } catch (const DatabaseError& error) {
    if (!is_damage(error)) throw;
    const std::string aside = set_aside(file);
    set_aside(file + "-wal");
    set_aside(file + "-shm");
    log_warning(std::string(error.what()) + "; set aside as '" + aside + "', beginning a new one");
    connection->database = open_checked(file, false);
  }
  return std::shared_ptr<ScheduleDatabase>(new ScheduleDatabase(std::move(connection)));
}

void ScheduleDatabase::add(const KernelKey& key, const ScheduleRecord& record) {
  const std::scoped_lock lock(connection_->mutex);
  Statement(connection_->database.get(), std::string("INSERT OR REPLACE INTO measurement (") +
                                             kColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(key.kernel_class)
      .bind(key.parameter_text())
      .bind(key.layouts)
      .bind(key.target)
      .bind(record.variant)
      .bind(to_json(record.schedule))
      .bind(record.milliseconds)
      .bind(record.measurement)
      .step();
}

std::optional<ScheduleMatch> ScheduleDatabase::best(const KernelKey& key) const {
  const std::scoped_lock lock(connection_->mutex);
  Statement rows(connection_->database.get(),
                 std::string("SELECT ") + kColumns +
                     " FROM measurement WHERE kernel_class = ? AND parameters = ? AND layouts = ?"
                     " ORDER BY milliseconds");
  rows.bind(key.kernel_class).bind(key.parameter_text()).bind(key.layouts);
  std::optional<ScheduleMatch> best;
  double nearest = std::numeric_limits<double>::infinity();
  while (rows.step()) {
    const double distance = target_distance(rows.text(3), key.target);
    if (distance >= nearest) continue;
    nearest = distance;
    best = read_match(rows);
    best->exact_target = distance == 0;
  }
  return best;
}

std::vector<ScheduleRecord> ScheduleDatabase::all(const KernelKey& key) const {
  const std::scoped_lock lock(connection_->mutex);
  Statement rows(connection_->database.get(),
                 std::string("SELECT ") + kColumns +
                     " FROM measurement WHERE kernel_class = ? AND parameters = ? AND layouts = ?"
                     " AND target = ? ORDER BY milliseconds");
  rows.bind(key.kernel_class).bind(key.parameter_text()).bind(key.layouts).bind(key.target);
  std::vector<ScheduleRecord> records;
  while (rows.step()) records.push_back(read_match(rows).record);
  return records;
}

std::vector<ScheduleMatch> ScheduleDatabase::relatives(const KernelKey& key) const {
  const std::scoped_lock lock(connection_->mutex);
  Statement rows(connection_->database.get(),
                 std::string("SELECT ") + kColumns +
                     " FROM measurement WHERE kernel_class = ? AND layouts = ? AND target = ?"
                     " AND parameters <> ? ORDER BY parameters, milliseconds");
  rows.bind(key.kernel_class).bind(key.layouts).bind(key.target).bind(key.parameter_text());
  std::vector<ScheduleMatch> matches;
  while (rows.step()) {
    if (!matches.empty() && matches.back().key.parameter_text() == rows.text(1)) continue;
    matches.push_back(read_match(rows));
  }
  return matches;
}

std::vector<ScheduleDatabase::Line> ScheduleDatabase::list() const {
  const std::scoped_lock lock(connection_->mutex);
  // SQLite takes bare columns from the row that has the minimum.
  Statement rows(connection_->database.get(),
                 "SELECT kernel_class, parameters, target, variant, MIN(milliseconds), COUNT(*)"
                 " FROM measurement GROUP BY kernel_class, parameters, layouts, target");
  std::vector<Line> lines;
  while (rows.step()) {
    lines.push_back(
        {rows.text(0), rows.text(1), rows.text(2), rows.text(3), rows.real(4), rows.integer(5)});
  }
  return lines;
}

int64_t ScheduleDatabase::merge(const std::string& other_path) {
  open_checked(other_path, true);  // proves it whole before anything is taken from it
  const std::scoped_lock lock(connection_->mutex);
  sqlite3* database = connection_->database.get();
  Statement(database, "ATTACH ? AS other").bind(other_path).step();
  const std::string columns = kColumns;
  int64_t taken = 0;
  try {
    execute(database, "INSERT OR IGNORE INTO measurement (" + columns + ") SELECT " + columns +
                          " FROM other.measurement");
    taken = sqlite3_changes(database);
  } catch (const DatabaseError&) {
    execute(database, "DETACH other");
    throw;
  }
  execute(database, "DETACH other");
  return taken;
}

void ScheduleDatabase::export_to(const std::string& path) const {
  const std::scoped_lock lock(connection_->mutex);
  const std::string beside = path + ".partial-" + std::to_string(::getpid());
  std::remove(beside.c_str());
  try {
    Statement(connection_->database.get(), "VACUUM INTO ?").bind(beside).step();
  } catch (const DatabaseError& error) {
    std::remove(beside.c_str());
    throw UserError("cannot write '" + path + "': " + error.what());
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) {
    std::remove(beside.c_str());
    throw UserError("cannot write '" + path + "'");
  }
}

int64_t ScheduleDatabase::prune(int64_t keep) {
  const std::scoped_lock lock(connection_->mutex);
  sqlite3* database = connection_->database.get();
  Statement(database,
            "DELETE FROM measurement WHERE (kernel_class, parameters, layouts, target, variant,"
            " schedule) IN (SELECT kernel_class, parameters, layouts, target, variant, schedule"
            " FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY kernel_class, parameters, layouts,"
            " target ORDER BY milliseconds) AS place FROM measurement) WHERE place > ?)")
      .bind(keep)
      .step();
  return sqlite3_changes(database);
}

}  // namespace opsmith::schedule
