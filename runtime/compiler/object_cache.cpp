#include "runtime/compiler/object_cache.h"

#include <unistd.h>

#include "support/file.h"
#include "support/log.h"

namespace opsmith::compiler {
ObjectCache::ObjectCache(const std::string& folder) {
  if (folder == "none") return;
  folder_ = folder.empty() ? cache_folder() + "/objects" : folder;
  try {
    make_folder(folder_, /*owner_only=*/true);
  } catch (const UserError& error) {
    refuse(error);
    folder_.clear();
  }
}

void ObjectCache::refuse(const UserError& error) {
  if (writable_.exchange(false)) {
    log_warning(std::string("compiled kernels are not kept: ") + error.what());
  }
}

std::string ObjectCache::path(const std::string& key) const {
  return folder_ + '/' + key + ".kernel";
}

std::optional<KernelObject> ObjectCache::find(const std::string& key) {
  if (folder_.empty() || access(path(key).c_str(), R_OK) != 0) return std::nullopt;
  try {
    return KernelObject::deserialize(read_file(path(key)));
  } catch (const UserError& error) {
    const std::string where = set_aside(path(key));
    if (!warned_of_damage_.exchange(true)) {
      log_warning("compiled kernel " + path(key) + " is made anew: " + error.what() +
                  (where.empty() ? "" : "; the old file is " + where));
    }
    return std::nullopt;
  }
}

void ObjectCache::add(const std::string& key, const KernelObject& kernel) {
  if (folder_.empty() || !writable_) return;
  try {
    write_file(path(key), kernel.serialize(), /*owner_only=*/true);
  } catch (const UserError& error) {
    refuse(error);
  }
}

}  // namespace opsmith::compiler
