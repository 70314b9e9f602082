#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace opsmith {

/// The whole file. Throws UserError naming it.
std::string read_file(const std::string& path);

/// Writes beside the destination and renames, so that readers see the old file or the new one,
/// never half. `owner_only` makes it readable by its owner alone. Throws UserError.
void write_file(const std::string& path, std::string_view bytes, bool owner_only = false);

/// Writes a file piece by piece beside its destination; `commit` renames it there. Without commit
/// nothing is left behind. Every member throws UserError naming the destination.
class FileWriter {
 public:
  explicit FileWriter(std::string path, bool owner_only = false);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  void write(std::string_view bytes);
  void commit();

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  std::string beside_;
  int file_ = -1;
};

/// A file mapped read-only (private, so that stray writes never reach the disk).
class MappedFile {
 public:
  /// Throws UserError naming the file.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  MappedFile() = default;
  void* data_ = nullptr;
  size_t size_ = 0;
};

/// Asks the system to take whole pages of this memory out of residence, because they are not needed
/// soon; what they hold stays. Pages of a mapped file are read again when touched; others stay
/// where there is no swap. A hint: never fails.
void page_out(const void* data, size_t bytes);

/// Moves a damaged file aside ("<path>.damaged") so that a fresh one can be made. Never throws.
/// Returns where it went, empty if it could not be moved.
std::string set_aside(const std::string& path);

/// $XDG_CACHE_HOME/opsmith (or ~/.cache/opsmith), not yet created.
std::string cache_folder();

/// Creates a folder and its parents. Throws UserError naming it and why.
void make_folder(const std::string& path, bool owner_only = false);

}  // namespace opsmith
