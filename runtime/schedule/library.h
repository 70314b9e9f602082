#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/schedule/database.h"

namespace opsmith::schedule {

/// The schedules that sessions choose from: those measured on this machine, then those that ship
/// with the project. Safe to use from several threads.
class ScheduleLibrary {
 public:
  /// Either may be null.
  ScheduleLibrary(std::shared_ptr<ScheduleDatabase> own, std::shared_ptr<ScheduleDatabase> shipped)
      : own_(std::move(own)), shipped_(std::move(shipped)) {}

  /// The user's database and the shipped one. One that cannot be used is left out with a warning.
  static std::shared_ptr<ScheduleLibrary> open();

  /// The fastest row of the key that `accepts` takes: of this very target, first the user's own;
  /// then of the nearest one.
  std::optional<ScheduleRow> best(const ScheduleKey& key,
                                  const std::function<bool(const ScheduleRow&)>& accepts);

  /// A row of this kernel did not fit and was skipped: said once.
  void warn_unfit(const std::string& kernel, const std::string& reason);

  ScheduleDatabase* own() { return own_.get(); }

 private:
  std::shared_ptr<ScheduleDatabase> own_, shipped_;
  std::mutex mutex_;
  bool warned_ = false;
};

/// The file of shipped schedules: $OPSMITH_SCHEDULES, else beside the installed or built command.
/// Empty when there is none.
std::string shipped_schedules();

}  // namespace opsmith::schedule
