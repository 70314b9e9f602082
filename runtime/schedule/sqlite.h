#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>

#include "support/error.h"

namespace opsmith::schedule {

/// A SQLite failure: the file is damaged, locked for too long or cannot be written.
class DatabaseError : public UserError {
 public:
  DatabaseError(const std::string& message, int error_code)
      : UserError(message), code(error_code) {}
  int code;
};

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using DatabaseHandle = std::unique_ptr<sqlite3, CloseDatabase>;

inline void check_sqlite(sqlite3* database, int code) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  throw DatabaseError(std::string("schedule database: ") + sqlite3_errmsg(database), code & 0xff);
}

inline void execute(sqlite3* database, const std::string& sql) {
  check_sqlite(database, sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr));
}

/// A prepared statement: bind in order, then step through the rows.
class Statement {
 public:
  Statement(sqlite3* database, const std::string& sql) : database_(database) {
    check_sqlite(database, sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text) {
    check_sqlite(database_, sqlite3_bind_text(statement_, ++bound_, text.data(),
                                              static_cast<int>(text.size()), SQLITE_TRANSIENT));
    return *this;
  }
  Statement& bind(double value) {
    check_sqlite(database_, sqlite3_bind_double(statement_, ++bound_, value));
    return *this;
  }
  Statement& bind(int64_t value) {
    check_sqlite(database_, sqlite3_bind_int64(statement_, ++bound_, value));
    return *this;
  }
  /// True while there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    check_sqlite(database_, code);
    return code == SQLITE_ROW;
  }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr ? std::string() : std::string(bytes);
  }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

}  // namespace opsmith::schedule
