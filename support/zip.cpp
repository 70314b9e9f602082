#include "support/zip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "support/error.h"

namespace opsmith {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryHeader = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50;
constexpr uint32_t kEnd64Locator = 0x07064b50;
constexpr size_t kEndSize = 22;
constexpr size_t kEnd64LocatorSize = 20;
constexpr uint32_t kIn64 = 0xffffffff;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
/// Deflate cannot shrink further than this: a larger claimed size is damage (or an attack).
constexpr uint64_t kMostDeflation = 1032;

/// Little-endian numbers of `Bytes` bytes.
uint64_t number(std::string_view bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}
void append(std::string& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

uint32_t checksum(std::string_view content) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

/// Calls zlib's `step` on a stream until all of `input` has gone through, growing `output` never
/// beyond `limit`. zlib counts in 32 bits, so both sides go in portions.
template <typename Step>
int drive(z_stream& stream, std::string_view input, std::string& output, uint64_t limit,
          Step step) {
  constexpr size_t kPortion = size_t{1} << 30;
  size_t consumed = 0, made = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const size_t in = std::min(kPortion, input.size() - consumed);
    if (made == output.size()) {
      if (output.size() >= limit) return Z_BUF_ERROR;
      output.resize(std::min<uint64_t>(limit, std::max<size_t>(4096, output.size() * 2)));
    }
    const size_t out = std::min(kPortion, output.size() - made);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data() + consumed));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(output.data() + made);
    stream.avail_out = static_cast<uInt>(out);
    status = step(stream, consumed + in == input.size());
    consumed += in - stream.avail_in;
    made += out - stream.avail_out;
    if (status == Z_BUF_ERROR && made == output.size() && output.size() < limit) status = Z_OK;
  }
  output.resize(made);
  return status;
}

}  // namespace

ZipReader::ZipReader(const std::string& path) : path_(path), file_(MappedFile::open(path)) {
  read_directory();
}

void ZipReader::damaged(const std::string& what) const {
  throw UserError("'" + path_ + "' is not a usable zip archive: " + what +
                  "; copy or write it again");
}

void ZipReader::read_directory() {
  const std::string_view bytes = file_->bytes();
  if (bytes.size() < kEndSize) damaged("it is too short");
  // The end record is followed by a comment of at most 65535 bytes.
  size_t end = bytes.size() - kEndSize;
  const size_t last = end > 0xffff ? end - 0xffff : 0;
  while (number(bytes, end, 4) != kEnd) {
    if (end == last) damaged("its directory is missing (truncated?)");
    --end;
  }
  uint64_t count = number(bytes, end + 10, 2);
  uint64_t offset = number(bytes, end + 16, 4);
  if (end >= kEnd64LocatorSize && number(bytes, end - kEnd64LocatorSize, 4) == kEnd64Locator) {
    const uint64_t end64 = number(bytes, end - kEnd64LocatorSize + 8, 8);
    if (bytes.size() < 56 || end64 > bytes.size() - 56 || number(bytes, end64, 4) != kEnd64) {
      damaged("its ZIP64 directory is missing");
    }
    count = number(bytes, end64 + 32, 8);
    offset = number(bytes, end64 + 48, 8);
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (offset > bytes.size() || bytes.size() - offset < 46 ||
        number(bytes, offset, 4) != kDirectoryHeader) {
      damaged("its directory is cut off");
    }
    Entry entry;
    const uint64_t flags = number(bytes, offset + 8, 2);
    entry.method = static_cast<uint16_t>(number(bytes, offset + 10, 2));
    entry.crc = static_cast<uint32_t>(number(bytes, offset + 16, 4));
    entry.compressed_size = number(bytes, offset + 20, 4);
    entry.size = number(bytes, offset + 24, 4);
    entry.header_offset = number(bytes, offset + 42, 4);
    const uint64_t name_size = number(bytes, offset + 28, 2);
    const uint64_t extra_size = number(bytes, offset + 30, 2);
    const uint64_t comment_size = number(bytes, offset + 32, 2);
    if (bytes.size() - offset - 46 < name_size + extra_size + comment_size) {
      damaged("its directory is cut off");
    }
    entry.name = std::string(bytes.substr(offset + 46, name_size));
    if (flags & 1) damaged("'" + entry.name + "' is encrypted");

    // Extra field 1 holds, in this order, the 64-bit forms of what did not fit in 32 bits.
    const std::string_view extra = bytes.substr(offset + 46 + name_size, extra_size);
    for (size_t at = 0; at + 4 <= extra.size();) {
      const size_t size = number(extra, at + 2, 2);
      if (number(extra, at, 2) == 1 && size <= extra.size() - at - 4) {
        size_t next = at + 4;
        for (uint64_t* field : {&entry.size, &entry.compressed_size, &entry.header_offset}) {
          if (*field != kIn64 || next + 8 > at + 4 + size) continue;
          *field = number(extra, next, 8);
          next += 8;
        }
      }
      at += 4 + size;
    }
    entries_.push_back(std::move(entry));
    offset += 46 + name_size + extra_size + comment_size;
  }
}

std::string ZipReader::read(const Entry& entry) const {
  const std::string_view bytes = file_->bytes();
  const uint64_t offset = entry.header_offset;
  if (offset > bytes.size() || bytes.size() - offset < 30 ||
      number(bytes, offset, 4) != kLocalHeader) {
    damaged("'" + entry.name + "' is not where the directory says");
  }
  const uint64_t begin =
      offset + 30 + number(bytes, offset + 26, 2) + number(bytes, offset + 28, 2);
  if (begin > bytes.size() || bytes.size() - begin < entry.compressed_size) {
    damaged("'" + entry.name + "' is cut off");
  }
  const std::string_view packed = bytes.substr(begin, entry.compressed_size);
  std::string content;
  if (entry.method == kStored) {
    if (entry.size != entry.compressed_size) damaged("the sizes of '" + entry.name + "' differ");
    content = std::string(packed);
  } else if (entry.method == kDeflated) {
    if (entry.size / kMostDeflation > entry.compressed_size) {
      damaged("the size of '" + entry.name + "' is absurd");
    }
    // One byte more than promised, so that too long a content is noticed.
    content.resize(entry.size + 1);
    z_stream stream{};
    require(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "zlib cannot start");
    const int status = drive(stream, packed, content, content.size(),
                             [](z_stream& s, bool) { return inflate(&s, Z_NO_FLUSH); });
    inflateEnd(&stream);
    if (status != Z_STREAM_END || content.size() != entry.size) {
      damaged("'" + entry.name + "' does not inflate");
    }
  } else {
    damaged("'" + entry.name + "' is packed with method " + std::to_string(entry.method) +
            " (only stored and deflated are known)");
  }
  if (checksum(content) != entry.crc) damaged("the checksum of '" + entry.name + "' is wrong");
  return content;
}

void ZipWriter::add(const std::string& name, std::string_view content, bool deflated) {
  std::string packed;
  std::string_view body = content;
  if (deflated) {
    z_stream stream{};
    require(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                         Z_DEFAULT_STRATEGY) == Z_OK,
            "zlib cannot start");
    const int status =
        drive(stream, content, packed, std::numeric_limits<uint64_t>::max(),
              [](z_stream& s, bool last) { return deflate(&s, last ? Z_FINISH : Z_NO_FLUSH); });
    deflateEnd(&stream);
    require(status == Z_STREAM_END, "zlib cannot deflate");
    body = packed;
  }
  const uint64_t offset = bytes_.size();
  const bool large = content.size() >= kIn64 || body.size() >= kIn64 || offset >= kIn64;
  std::string extra;
  if (large) {
    append(extra, 1, 2);
    append(extra, 24, 2);
    append(extra, content.size(), 8);
    append(extra, body.size(), 8);
    append(extra, offset, 8);
  }
  const auto common = [&](std::string& out) {
    append(out, large ? 45 : 20, 2);  // version needed
    append(out, 0x0800, 2);           // names are UTF-8
    append(out, deflated ? kDeflated : kStored, 2);
    append(out, 0, 2);     // time 0:00
    append(out, 0x21, 2);  // 1 January 1980: the same bytes for the same content
    append(out, checksum(content), 4);
    append(out, large ? kIn64 : body.size(), 4);
    append(out, large ? kIn64 : content.size(), 4);
    append(out, name.size(), 2);
    append(out, extra.size(), 2);
  };
  append(bytes_, kLocalHeader, 4);
  common(bytes_);
  bytes_ += name;
  bytes_ += extra;
  bytes_ += body;

  append(directory_, kDirectoryHeader, 4);
  append(directory_, 45, 2);  // made by
  common(directory_);
  append(directory_, 0, 2 + 2 + 2);             // comment, disk, internal attributes
  append(directory_, uint64_t{0644} << 16, 4);  // external attributes
  append(directory_, large ? kIn64 : offset, 4);
  directory_ += name;
  directory_ += extra;
  ++count_;
}

std::string ZipWriter::finish() {
  const uint64_t offset = bytes_.size();
  bytes_ += directory_;
  const uint64_t end64 = bytes_.size();
  if (count_ >= 0xffff || offset >= kIn64 || directory_.size() >= kIn64) {
    append(bytes_, kEnd64, 4);
    append(bytes_, 44, 8);  // bytes of this record that follow
    append(bytes_, 45, 2);
    append(bytes_, 45, 2);
    append(bytes_, 0, 4 + 4);  // disks
    append(bytes_, count_, 8);
    append(bytes_, count_, 8);
    append(bytes_, directory_.size(), 8);
    append(bytes_, offset, 8);
    append(bytes_, kEnd64Locator, 4);
    append(bytes_, 0, 4);
    append(bytes_, end64, 8);
    append(bytes_, 1, 4);
  }
  append(bytes_, kEnd, 4);
  append(bytes_, 0, 2 + 2);  // disks
  append(bytes_, std::min<uint64_t>(count_, 0xffff), 2);
  append(bytes_, std::min<uint64_t>(count_, 0xffff), 2);
  append(bytes_, std::min<uint64_t>(directory_.size(), kIn64), 4);
  append(bytes_, std::min<uint64_t>(offset, kIn64), 4);
  append(bytes_, 0, 2);  // comment
  return std::move(bytes_);
}

}  // namespace opsmith
