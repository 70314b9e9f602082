#include "support/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "support/error.h"

namespace opsmith {
namespace {

/// Deflate cannot shrink further than this, so a file claiming more is damaged.
constexpr uint64_t kMostDeflation = 1032;

/// A plain or gzipped file read as a stream.
class Stream {
 public:
  explicit Stream(const std::string& path) : path_(path) {
    std::error_code error;
    file_bytes_ = std::filesystem::file_size(path, error);
    if (error) throw UserError("cannot open '" + path + "': " + error.message());
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_) throw UserError("cannot open '" + path + "': " + std::strerror(errno));
    gzbuffer(file_.get(), 1 << 17);
  }

  void read(void* target, uint64_t size) {
    auto* at = static_cast<char*>(target);
    while (size > 0) {
      const auto portion = static_cast<unsigned>(std::min<uint64_t>(size, 1u << 30));
      const int got = gzread(file_.get(), at, portion);
      if (got <= 0) damaged("it is cut off or its compressed data is damaged");
      at += got;
      size -= static_cast<uint64_t>(got);
    }
  }
  void skip(uint64_t size) {
    if (size == 0) return;
    if (gzseek(file_.get(), static_cast<z_off_t>(size), SEEK_CUR) < 0) damaged("it is cut off");
  }
  /// An upper bound of the bytes that can come out of this file.
  uint64_t most_bytes() const {
    return gzdirect(file_.get()) ? file_bytes_ : file_bytes_ * kMostDeflation;
  }

  [[noreturn]] void damaged(const std::string& what) const {
    throw UserError("'" + path_ + "' is not a usable IDX file: " + what + "; fetch it again");
  }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  std::string path_;
  uint64_t file_bytes_ = 0;
  std::unique_ptr<std::remove_pointer_t<gzFile>, Close> file_;
};

ElementType element_type(uint8_t code) {
  switch (code) {
    case 0x08:
      return ElementType::UInt8;
    case 0x09:
      return ElementType::Int8;
    case 0x0b:
      return ElementType::Int16;
    case 0x0c:
      return ElementType::Int32;
    case 0x0d:
      return ElementType::Float32;
    case 0x0e:
      return ElementType::Float64;
    default:
      return ElementType::Undefined;
  }
}

}  // namespace

Tensor read_idx(const std::string& path, const SampleRange& samples) {
  Stream stream(path);
  std::array<uint8_t, 4> magic{};
  stream.read(magic.data(), magic.size());
  const ElementType type = element_type(magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || type == ElementType::Undefined || magic[3] == 0) {
    stream.damaged("it does not begin as one");
  }
  Shape shape;
  for (int i = 0; i < magic[3]; ++i) {
    std::array<uint8_t, 4> b{};
    stream.read(b.data(), b.size());
    shape.push_back(int64_t{b[0]} << 24 | int64_t{b[1]} << 16 | int64_t{b[2]} << 8 | b[3]);
  }
  uint64_t bytes = element_size(type);
  for (const int64_t extent : shape) {
    if (extent > 0 && bytes > stream.most_bytes() / static_cast<uint64_t>(extent)) {
      stream.damaged("its sizes " + to_string(shape) + " are more than the file can hold");
    }
    bytes *= static_cast<uint64_t>(extent);
  }

  const SampleRange range =
      samples.all() ? SampleRange{0, shape[0]} : resolve(samples, shape[0], path);
  if (shape[0] > 0)
    stream.skip(bytes / static_cast<uint64_t>(shape[0]) * static_cast<uint64_t>(range.begin));
  shape[0] = *range.end - range.begin;
  Tensor tensor(type, shape);
  stream.read(tensor.raw(), tensor.bytes());

  // IDX numbers are big-endian.
  const size_t size = element_size(type);
  auto* at = static_cast<char*>(tensor.raw());
  for (int64_t i = 0; size > 1 && i < tensor.count(); ++i, at += size) std::reverse(at, at + size);
  return tensor;
}

bool has_idx_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.find("-idx") != std::string::npos || name.find(".idx") != std::string::npos;
}

}  // namespace opsmith
