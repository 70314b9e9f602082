#include "runtime/schedule/database.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <sstream>

#include "runtime/schedule/database_rows.h"
#include "support/error.h"
#include "support/file.h"
#include "support/log.h"

namespace opsmith::schedule {
namespace {

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS measurements ("
    " kernel_class TEXT NOT NULL, parameters TEXT NOT NULL, layouts TEXT NOT NULL,"
    " target TEXT NOT NULL, variant TEXT NOT NULL, schedule TEXT NOT NULL,"
    " seconds REAL NOT NULL, measured TEXT NOT NULL, version TEXT NOT NULL,"
    " UNIQUE (kernel_class, parameters, layouts, target, variant, schedule, measured, version));"
    "CREATE INDEX IF NOT EXISTS by_key ON measurements"
    " (kernel_class, parameters, layouts, target, seconds);";

/// One prepared statement; errors become UserError naming the database.
class Statement {
 public:
  Statement(sqlite3* database, const std::string& path, const char* text)
      : database_(database), path_(path) {
    check(sqlite3_prepare_v2(database, text, -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& text(const std::string& value) {
    check(sqlite3_bind_text(statement_, ++bound_, value.data(), static_cast<int>(value.size()),
                            SQLITE_TRANSIENT));
    return *this;
  }
  Statement& real(double value) {
    check(sqlite3_bind_double(statement_, ++bound_, value));
    return *this;
  }
  Statement& integer(int64_t value) {
    check(sqlite3_bind_int64(statement_, ++bound_, value));
    return *this;
  }
  /// True while there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) check(code);
    return false;
  }
  std::string column_text(int column) {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return data == nullptr ? "" : std::string(data);
  }
  double column_real(int column) { return sqlite3_column_double(statement_, column); }
  int64_t column_integer(int column) { return sqlite3_column_int64(statement_, column); }

 private:
  void check(int code) const {
    if (code == SQLITE_OK) return;
    throw UserError("schedule database " + path_ + ": " + sqlite3_errmsg(database_));
  }
  sqlite3* database_;
  const std::string& path_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

/// "machine isa L1/L2/L3 threads" in parts.
struct TargetParts {
  std::string instruction_set;
  std::vector<double> caches;
  std::string threads;
};

TargetParts parse_target(const std::string& key) {
  TargetParts parts;
  std::istringstream stream(key);
  std::string machine;
  std::string caches;
  stream >> machine >> parts.instruction_set >> caches >> parts.threads;
  std::istringstream sizes(caches);
  for (std::string size; std::getline(sizes, size, '/');) {
    parts.caches.push_back(std::max(std::strtod(size.c_str(), nullptr), 1.0));
  }
  return parts;
}

bool is_text(const std::string& path) { return path.ends_with(".json"); }

/// How far two machines are from each other; infinite when code of one does not suit the other.
double distance(const TargetParts& a, const TargetParts& b) {
  // What is best for one thread may have a single task.
  if (a.instruction_set != b.instruction_set || a.threads != b.threads) return INFINITY;
  double sum = 0;
  for (size_t i = 0; i < std::max(a.caches.size(), b.caches.size()); ++i) {
    if (i >= a.caches.size() || i >= b.caches.size()) {
      sum += 4;
    } else {
      sum += std::abs(std::log2(a.caches[i] / b.caches[i]));
    }
  }
  return sum;
}

}  // namespace

struct ScheduleDatabase::State {
  std::string path;
  sqlite3* database = nullptr;
  std::recursive_mutex mutex;

  ~State() { sqlite3_close(database); }

  /// False when the file is no sound database.
  bool open() {
    if (sqlite3_open_v2(path.c_str(), &database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
                        nullptr) != SQLITE_OK) {
      const std::string reason = sqlite3_errmsg(database);
      sqlite3_close(database);
      database = nullptr;
      throw UserError("schedule database " + path + " cannot be opened: " + reason);
    }
    sqlite3_busy_timeout(database, 10000);
    sqlite3_exec(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;", nullptr, nullptr,
                 nullptr);
    const int code = sqlite3_exec(database, kTables, nullptr, nullptr, nullptr);
    bool sound = code == SQLITE_OK;
    if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_BUSY) {
      throw UserError("schedule database " + path + " cannot be used: " + sqlite3_errmsg(database));
    }
    if (sound) {
      sqlite3_stmt* check = nullptr;
      sound =
          sqlite3_prepare_v2(database, "PRAGMA quick_check(1)", -1, &check, nullptr) == SQLITE_OK &&
          sqlite3_step(check) == SQLITE_ROW &&
          std::string(reinterpret_cast<const char*>(sqlite3_column_text(check, 0))) == "ok";
      sqlite3_finalize(check);
    }
    if (sound) return true;
    sqlite3_close(database);
    database = nullptr;
    return false;
  }

  Statement statement(const char* text) { return {database, path, text}; }

  void execute(const char* text) { statement(text).step(); }

  /// `newest`: takes the place of an earlier time of the same schedule.
  void insert(const ScheduleKey& key, const ScheduleRow& row, bool newest) {
    Statement statement_of_row =
        statement(newest ? "INSERT OR REPLACE INTO measurements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
                         : "INSERT OR IGNORE INTO measurements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    statement_of_row.text(key.kernel_class).text(key.parameters).text(key.layouts).text(key.target);
    statement_of_row.text(row.variant).text(to_json(row.schedule)).real(row.seconds);
    statement_of_row.text(row.measured).text(row.version).step();
  }

  std::vector<std::pair<ScheduleKey, ScheduleRow>> all() {
    Statement query = statement("SELECT * FROM measurements ORDER BY 1, 2, 3, 4, seconds");
    std::vector<std::pair<ScheduleKey, ScheduleRow>> found;
    while (query.step()) {
      found.push_back(
          {{query.column_text(0), query.column_text(1), query.column_text(2), query.column_text(3)},
           {query.column_text(4), schedule_from_json(query.column_text(5)), query.column_real(6),
            query.column_text(7), query.column_text(8)}});
    }
    return found;
  }

  std::vector<ScheduleRow> rows(const ScheduleKey& key, const std::string& target) {
    Statement query = statement(
        "SELECT variant, schedule, seconds, measured, version FROM measurements"
        " WHERE kernel_class=? AND parameters=? AND layouts=? AND target=? ORDER BY seconds");
    query.text(key.kernel_class).text(key.parameters).text(key.layouts).text(target);
    std::vector<ScheduleRow> found;
    while (query.step()) {
      found.push_back({query.column_text(0), schedule_from_json(query.column_text(1)),
                       query.column_real(2), query.column_text(3), query.column_text(4)});
    }
    return found;
  }
};

ScheduleDatabase::ScheduleDatabase(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  if (path.empty()) {
    make_folder(cache_folder());
    state_->path = cache_folder() + "/schedules.db";
  }
  if (state_->open()) return;
  const std::string where = set_aside(state_->path);
  log_warning("schedule database " + state_->path + " is damaged and begun anew" +
              (where.empty() ? "" : "; the old file is " + where));
  for (const char* companion : {"-wal", "-shm"}) unlink((state_->path + companion).c_str());
  if (!state_->open()) throw UserError("schedule database " + state_->path + " cannot be made");
}

ScheduleDatabase::~ScheduleDatabase() = default;

std::vector<ScheduleRow> ScheduleDatabase::find(const ScheduleKey& key) {
  const std::lock_guard lock(state_->mutex);
  std::vector<ScheduleRow> found = state_->rows(key, key.target);
  if (!found.empty()) return found;
  Statement targets = state_->statement(
      "SELECT DISTINCT target FROM measurements"
      " WHERE kernel_class=? AND parameters=? AND layouts=? ORDER BY target");
  targets.text(key.kernel_class).text(key.parameters).text(key.layouts);
  const TargetParts wanted = parse_target(key.target);
  double nearest = INFINITY;
  std::string chosen;
  while (targets.step()) {
    const double d = distance(wanted, parse_target(targets.column_text(0)));
    if (d < nearest) {
      nearest = d;
      chosen = targets.column_text(0);
    }
  }
  return chosen.empty() ? found : state_->rows(key, chosen);
}

std::vector<ScheduleRow> ScheduleDatabase::find_exactly(const ScheduleKey& key) {
  const std::lock_guard lock(state_->mutex);
  return state_->rows(key, key.target);
}

std::optional<ScheduleRow> ScheduleDatabase::best(const ScheduleKey& key) {
  std::vector<ScheduleRow> found = find(key);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

void ScheduleDatabase::add(const ScheduleKey& key, const ScheduleRow& row) {
  const std::lock_guard lock(state_->mutex);
  state_->insert(key, row, true);
}

int64_t ScheduleDatabase::size() {
  const std::lock_guard lock(state_->mutex);
  Statement query = state_->statement("SELECT count(*) FROM measurements");
  query.step();
  return query.column_integer(0);
}

std::vector<ScheduleDatabase::Line> ScheduleDatabase::list() {
  const std::lock_guard lock(state_->mutex);
  // SQLite takes bare columns from the row that has the minimum.
  Statement query = state_->statement(
      "SELECT kernel_class, parameters, target, variant, min(seconds), count(*) FROM measurements"
      " GROUP BY kernel_class, parameters, layouts, target");
  std::vector<Line> lines;
  while (query.step()) {
    lines.push_back({query.column_text(0), query.column_text(1), query.column_text(2),
                     query.column_text(3), query.column_real(4), query.column_integer(5)});
  }
  return lines;
}

int64_t ScheduleDatabase::merge(const std::string& other_path) {
  const std::lock_guard lock(state_->mutex);
  if (access(other_path.c_str(), R_OK) != 0) {
    throw UserError("schedule database " + other_path + " cannot be read");
  }
  const int64_t before = size();
  if (is_text(other_path)) {
    state_->execute("BEGIN");
    for (const auto& [key, row] : read_rows(other_path)) state_->insert(key, row, false);
    state_->execute("COMMIT");
    return size() - before;
  }
  {
    Statement attach = state_->statement("ATTACH DATABASE ? AS other");
    attach.text(other_path).step();
  }
  try {
    state_->statement("INSERT OR IGNORE INTO measurements SELECT * FROM other.measurements").step();
  } catch (const UserError& error) {
    sqlite3_exec(state_->database, "DETACH DATABASE other", nullptr, nullptr, nullptr);
    throw UserError(other_path + " is no schedule database: " + error.what());
  }
  state_->statement("DETACH DATABASE other").step();
  return size() - before;
}

void ScheduleDatabase::export_to(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  if (access(path.c_str(), F_OK) == 0) {
    throw UserError("'" + path + "' exists; choose another file");
  }
  if (is_text(path)) {
    write_rows(path, state_->all());
    return;
  }
  Statement vacuum = state_->statement("VACUUM INTO ?");
  vacuum.text(path).step();
}

int64_t ScheduleDatabase::prune(int64_t keep) {
  const std::lock_guard lock(state_->mutex);
  const int64_t before = size();
  Statement drop = state_->statement(
      "DELETE FROM measurements WHERE rowid IN (SELECT rowid FROM (SELECT rowid, row_number() OVER"
      " (PARTITION BY kernel_class, parameters, layouts, target ORDER BY seconds) AS place"
      " FROM measurements) WHERE place > ?)");
  drop.integer(keep).step();
  return before - size();
}

}  // namespace opsmith::schedule
