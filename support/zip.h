#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/file.h"

namespace opsmith {

/// A zip archive opened for reading (PKWARE's APPNOTE.TXT: stored and deflated entries, ZIP64).
class ZipReader {
 public:
  struct Entry {
    std::string name;
    uint16_t method = 0;  ///< 0 stored, 8 deflated
    uint32_t crc = 0;
    uint64_t compressed_size = 0;
    uint64_t size = 0;
    uint64_t header_offset = 0;
  };

  /// Reads the directory. Throws UserError naming the file when it is no zip or damaged.
  explicit ZipReader(const std::string& path);

  const std::vector<Entry>& entries() const { return entries_; }

  /// The content of an entry, its checksum verified. Throws UserError naming file and entry.
  std::string read(const Entry& entry) const;

 private:
  [[noreturn]] void damaged(const std::string& what) const;
  void read_directory();

  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::vector<Entry> entries_;
};

/// Collects entries and gives the bytes of the archive.
class ZipWriter {
 public:
  void add(const std::string& name, std::string_view content, bool deflate = false);
  /// The archive; nothing can be added afterwards.
  std::string finish();

 private:
  std::string bytes_;
  std::string directory_;
  uint64_t count_ = 0;
};

}  // namespace opsmith
