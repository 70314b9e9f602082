#pragma once

#include <optional>
#include <string>

#include "runtime/compiler/loader/kernel_object.h"

namespace opsmith::compiler {

/// Compiled kernels on disk, one file each, readable by their owner alone. Several processes may
/// share a folder. A file whose checksum is wrong is set aside with a warning; a folder that
/// cannot be written is used no more, with one warning.
class ObjectCache {
 public:
  /// "none" keeps nothing; empty is the default folder.
  explicit ObjectCache(const std::string& folder);

  std::optional<KernelObject> find(const std::string& key);
  void add(const std::string& key, const KernelObject& kernel);
  const std::string& folder() const { return folder_; }

 private:
  std::string path(const std::string& key) const;
  std::string folder_;  ///< empty: keeps nothing
};

}  // namespace opsmith::compiler
