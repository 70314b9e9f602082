#include "runtime/schedule/library.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "support/error.h"
#include "support/log.h"

namespace opsmith::schedule {
namespace {

constexpr const char* kFile = "schedules.json";

std::shared_ptr<ScheduleDatabase> open_or_warn(const std::function<ScheduleDatabase*()>& open) {
  try {
    return std::shared_ptr<ScheduleDatabase>(open());
  } catch (const UserError& error) {
    log_warning(std::string("schedules are not used: ") + error.what());
    return nullptr;
  }
}

}  // namespace

std::string shipped_schedules() {
  if (const char* given = std::getenv("OPSMITH_SCHEDULES")) return given;
  std::error_code error;
  const std::filesystem::path command = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  // bin/opsmith -> share/opsmith; build/<preset>/opsmith and tests and benchmarks below it -> the
  // source tree.
  for (const char* folder : {"../share/opsmith", "../../schedules", "../../../schedules"}) {
    const std::filesystem::path file = command.parent_path() / folder / kFile;
    if (std::filesystem::exists(file, error)) return file.lexically_normal();
  }
  return {};
}

std::shared_ptr<ScheduleLibrary> ScheduleLibrary::open() {
  auto own = open_or_warn([] { return new ScheduleDatabase(); });
  std::shared_ptr<ScheduleDatabase> shipped;
  const std::string file = shipped_schedules();
  if (!file.empty()) {
    shipped = open_or_warn([&] {
      auto database = std::make_unique<ScheduleDatabase>(":memory:");
      database->merge(file);
      return database.release();
    });
  }
  return std::make_shared<ScheduleLibrary>(std::move(own), std::move(shipped));
}

std::optional<ScheduleRow> ScheduleLibrary::best(
    const ScheduleKey& key, const std::function<bool(const ScheduleRow&)>& accepts) {
  const auto first = [&](ScheduleDatabase* database, bool exact) -> std::optional<ScheduleRow> {
    if (database == nullptr) return std::nullopt;
    for (ScheduleRow& row : exact ? database->find_exactly(key) : database->find(key)) {
      if (accepts(row)) return std::move(row);
    }
    return std::nullopt;
  };
  for (const bool exact : {true, false}) {
    for (ScheduleDatabase* database : {own_.get(), shipped_.get()}) {
      try {
        if (auto row = first(database, exact)) return row;
      } catch (const UserError& error) {
        warn_unfit(key.kernel_class, error.what());
      }
    }
  }
  return std::nullopt;
}

void ScheduleLibrary::warn_unfit(const std::string& kernel, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (warned_) return;
  warned_ = true;
  log_warning("a measured schedule of " + kernel +
              " does not fit any more and is skipped: " + reason);
}

}  // namespace opsmith::schedule
