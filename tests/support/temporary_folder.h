#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/error.h"
#include "support/file.h"

namespace opsmith::testing {

/// A folder of a test's own, removed at its end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "opsmith-test-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "cannot make a temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

  /// Writes a file into it and returns its path.
  std::string file(const std::string& name, const std::string& bytes) const {
    write_file(*this / name, bytes);
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

/// The message of the UserError that `work` throws; empty when it throws none.
template <typename Work>
std::string user_error(const Work& work) {
  try {
    work();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace opsmith::testing
