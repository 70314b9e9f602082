#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/schedule/kernel_class.h"

namespace opsmith::schedule {

/// One measurement: this program variant under this schedule took this long.
struct ScheduleRecord {
  std::string variant;  ///< "direct", "winograd 4x4", ...
  Schedule schedule;
  double milliseconds = 0;  ///< robust centre
  std::string measurement;  ///< how it was measured: runs, warm or cold, spread
};

/// A record with the key under which it was found.
struct ScheduleMatch {
  KernelKey key;
  ScheduleRecord record;
  bool exact_target = true;
};

/// Measured schedules in one SQLite file: crash-safe, shared between processes, mergeable. Losing
/// measurements are kept too. Thread-safe.
class ScheduleDatabase {
 public:
  /// Opens or creates. A file that is damaged or of another version is set aside with one
  /// warning and a fresh one begun. Throws UserError when the folder cannot be used. An empty
  /// path is default_path(); ":memory:" keeps nothing.
  static std::shared_ptr<ScheduleDatabase> open(const std::string& path = "");
  /// $XDG_CACHE_HOME/opsmith/schedules.db
  static std::string default_path();
  ~ScheduleDatabase();

  void add(const KernelKey& key, const ScheduleRecord& record);

  /// The fastest record of exactly this kernel: on this target, otherwise on a target of the same
  /// instruction set, the one with the nearest caches first.
  std::optional<ScheduleMatch> best(const KernelKey& key) const;

  /// Everything known of this kernel on this very target, fastest first.
  std::vector<ScheduleRecord> all(const KernelKey& key) const;

  /// The fastest record for each other set of parameters of the same class and layouts, on this
  /// target: what a schedule can be adapted from.
  std::vector<ScheduleMatch> relatives(const KernelKey& key) const;

  /// One line per kernel for people: class, parameters, target, best variant and time, records.
  struct Line {
    std::string kernel_class, parameters, target, variant;
    double milliseconds = 0;
    int64_t records = 0;
  };
  std::vector<Line> list() const;

  /// Takes over the records of another file that are not here yet; returns how many.
  int64_t merge(const std::string& other_path);
  /// Writes a compact copy, whole beside its destination and renamed.
  void export_to(const std::string& path) const;
  /// Keeps the `keep` fastest records of each kernel and drops the rest; returns how many went.
  int64_t prune(int64_t keep);

 private:
  struct Connection;
  explicit ScheduleDatabase(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace opsmith::schedule
