#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/schedule/schedule.h"

namespace opsmith::schedule {

/// What a measured schedule belongs to.
struct ScheduleKey {
  std::string kernel_class;  ///< hash of the program with its sizes made parameters
  std::string parameters;    ///< the sizes, in the program's order
  std::string layouts;       ///< layouts and element types of all tensors
  std::string target;        ///< Target::key()
};

ScheduleKey schedule_key(const KernelSpecification& specification);

/// One measurement.
struct ScheduleRow {
  std::string variant;  ///< which program of the class: "direct", "winograd"
  Schedule schedule;
  double seconds = 0;    ///< robust centre of the repeated times
  std::string measured;  ///< how: threads, runs, warm or cold caches
  std::string version;   ///< of opsmith
};

/// Measured schedules in SQLite. Several processes may use one file at once; a file that is
/// damaged is set aside with a warning and a fresh one begun. Losing measurements are kept: cost
/// models learn from them. Safe to use from several threads.
class ScheduleDatabase {
 public:
  /// `path` empty: $XDG_CACHE_HOME/opsmith/schedules.db; ":memory:" keeps nothing. Throws
  /// UserError when the file cannot be made.
  explicit ScheduleDatabase(const std::string& path = "");
  ~ScheduleDatabase();
  ScheduleDatabase(const ScheduleDatabase&) = delete;
  ScheduleDatabase& operator=(const ScheduleDatabase&) = delete;

  /// Rows of this key, fastest first. Where its target has none: those of the target with the same
  /// instruction set whose caches are nearest.
  std::vector<ScheduleRow> find(const ScheduleKey& key);
  std::optional<ScheduleRow> best(const ScheduleKey& key);
  /// Rows of this key and target alone, fastest first.
  std::vector<ScheduleRow> find_exactly(const ScheduleKey& key);
  void add(const ScheduleKey& key, const ScheduleRow& row);

  int64_t size();

  /// One line per kernel and target for people: its best variant and time, how many rows.
  struct Line {
    std::string kernel_class, parameters, target, variant;
    double seconds = 0;
    int64_t rows = 0;
  };
  std::vector<Line> list();

  /// Takes in the rows of another database, or of a file of rows (*.json), that are not here yet.
  /// Returns how many.
  int64_t merge(const std::string& other_path);
  /// Writes all rows to a new file: a database, or text with one row a line where the name ends in
  /// .json. Throws UserError when it exists.
  void export_to(const std::string& path);
  /// Keeps the fastest `keep` rows of each key and target. Returns how many rows went.
  int64_t prune(int64_t keep);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace opsmith::schedule
