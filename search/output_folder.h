#pragma once

#include <map>
#include <string>

namespace opsmith::search {

/// A folder that receives several files at once: they are written into a temporary folder inside
/// it, and moved to their places when all of them are there. Files of these names that were there
/// before are replaced; nothing is left half-written. Of a process that is killed before, only the
/// temporary folder (".staging." and six letters) is left, until the next one writes here.
class OutputFolder {
 public:
  /// Creates the folder and makes sure that files can be written there. Throws UserError.
  explicit OutputFolder(std::string path);
  /// Removes what was not committed, and the folder itself if it was made here and is empty.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// Where to write the file until `commit`.
  std::string staged(const std::string& name) const;
  /// Moves everything staged to its place. Throws UserError.
  void commit();

 private:
  std::string path_, staging_;
  bool created_ = false;
  int lock_ = -1;  ///< on the staging folder
};

}  // namespace opsmith::search
