#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "runtime/compiler/loader/kernel_object.h"
#include "support/error.h"

namespace opsmith::compiler {

/// Compiled kernels on disk, one file each, readable by their owner alone. Several processes may
/// share a folder, several threads one object. A file that is damaged is set aside and counts as
/// missing; nothing more is added to a folder that cannot be written. Either is warned of once.
class ObjectCache {
 public:
  /// "none" keeps nothing; empty is the default folder.
  explicit ObjectCache(const std::string& folder);

  /// nullopt when there is none.
  std::optional<KernelObject> find(const std::string& key);
  void add(const std::string& key, const KernelObject& kernel);
  /// Empty: keeps nothing.
  const std::string& folder() const { return folder_; }

 private:
  std::string path(const std::string& key) const;
  void refuse(const UserError& error);

  std::string folder_;
  std::atomic<bool> writable_ = true;
  std::atomic<bool> warned_of_damage_ = false;
};

}  // namespace opsmith::compiler
