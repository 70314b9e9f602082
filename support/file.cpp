#include "support/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "support/error.h"

namespace opsmith {
namespace {

namespace fs = std::filesystem;

std::string why() { return std::strerror(errno); }

/// Closes a descriptor on every way out.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

size_t open_regular(const std::string& path, Descriptor& file) {
  file.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file.fd < 0) throw UserError("cannot open '" + path + "': " + why());
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) throw UserError("cannot read '" + path + "': " + why());
  if (!S_ISREG(info.st_mode)) throw UserError("'" + path + "' is not a regular file");
  return static_cast<size_t>(info.st_size);
}

}  // namespace

std::string read_file(const std::string& path) {
  Descriptor file;
  std::string bytes(open_regular(path, file), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(file.fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw UserError("cannot read '" + path + "': " + (n < 0 ? why() : "it shrank"));
    done += static_cast<size_t>(n);
  }
  return bytes;
}

FileWriter::FileWriter(std::string path, bool owner_only) : path_(std::move(path)) {
  static std::atomic<unsigned> counter{0};
  beside_ =
      path_ + ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(counter.fetch_add(1));
  file_ =
      ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, owner_only ? 0600 : 0666);
  if (file_ < 0) fail();
}

FileWriter::~FileWriter() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(beside_.c_str());
}

void FileWriter::fail() const { throw UserError("cannot write '" + path_ + "': " + why()); }

void FileWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail();
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void FileWriter::commit() {
  if (::fsync(file_) != 0 && errno != EINVAL) fail();
  if (::rename(beside_.c_str(), path_.c_str()) != 0) fail();
  ::close(file_);
  file_ = -1;
}

void write_file(const std::string& path, std::string_view bytes, bool owner_only) {
  FileWriter writer(path, owner_only);
  writer.write(bytes);
  writer.commit();
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  Descriptor file;
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->size_ = open_regular(path, file);
  if (mapped->size_ > 0) {
    void* data = ::mmap(nullptr, mapped->size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) throw UserError("cannot map '" + path + "': " + why());
    mapped->data_ = data;
  }
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void page_out(const void* data, size_t bytes) {
#ifdef MADV_PAGEOUT
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(data) + bytes) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_PAGEOUT);
#else
  (void)data;
  (void)bytes;
#endif
}

std::string set_aside(const std::string& path) {
  const std::string aside = path + ".damaged";
  std::error_code error;
  fs::rename(path, aside, error);
  return error ? std::string() : aside;
}

std::string cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::string(cache) + "/opsmith";
  }
  const char* home = std::getenv("HOME");
  return (home != nullptr && *home != '\0' ? std::string(home) : std::string("/tmp")) +
         "/.cache/opsmith";
}

void make_folder(const std::string& path, bool owner_only) {
  std::error_code error;
  const bool created = fs::create_directories(path, error);
  if (error) throw UserError("cannot create the folder '" + path + "': " + error.message());
  if (!fs::is_directory(path)) throw UserError("'" + path + "' is not a folder");
  if (created && owner_only) fs::permissions(path, fs::perms::owner_all, error);
}

}  // namespace opsmith
