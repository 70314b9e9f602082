#include "search/output_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "support/error.h"
#include "support/file.h"

namespace opsmith::search {

namespace fs = std::filesystem;

namespace {

/// What processes that were killed have left: staging folders that nobody holds a lock on.
void remove_stale(const std::string& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().starts_with(".staging.")) continue;
    const int descriptor = ::open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), error);
    ::close(descriptor);
  }
}

}  // namespace

OutputFolder::OutputFolder(std::string path) : path_(std::move(path)) {
  std::error_code error;
  created_ = !fs::exists(path_, error);
  make_folder(path_);
  remove_stale(path_);
  // A fresh name: what a process that was killed has left must not be taken for ours.
  staging_ = (fs::path(path_) / ".staging.XXXXXX").string();
  if (::mkdtemp(staging_.data()) == nullptr) {
    if (created_) fs::remove(path_, error);
    throw UserError("cannot write into the output folder " + path_ +
                    ": choose another with -o, or change its permissions");
  }
  // Held until the end, so that another process can tell this folder from one that was left.
  lock_ = ::open(staging_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0) ::flock(lock_, LOCK_EX);
}

OutputFolder::~OutputFolder() {
  std::error_code error;
  fs::remove_all(staging_, error);
  if (lock_ >= 0) ::close(lock_);
  if (created_) fs::remove(path_, error);  // only when it is empty
}

std::string OutputFolder::staged(const std::string& name) const {
  return (fs::path(staging_) / name).string();
}

void OutputFolder::commit() {
  std::error_code error;
  const fs::directory_iterator staged_entries(staging_, error);
  if (error) throw UserError("cannot read " + staging_ + ": " + error.message());
  for (const fs::directory_entry& entry : staged_entries) {
    fs::rename(entry.path(), fs::path(path_) / entry.path().filename(), error);
    if (error) {
      throw UserError("cannot move " + entry.path().string() + " to " + path_ + ": " +
                      error.message());
    }
  }
}

}  // namespace opsmith::search
