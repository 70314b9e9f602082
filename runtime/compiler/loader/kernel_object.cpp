#include "runtime/compiler/loader/kernel_object.h"

#include <cstring>

#include "support/error.h"
#include "support/hash.h"

namespace opsmith::compiler {
namespace {

constexpr std::string_view kMagic = "opsmith-kernel-2";
constexpr size_t kChecksumSize = 32;

class Writer {
 public:
  void number(int64_t value) {
    char raw[8];
    std::memcpy(raw, &value, 8);
    bytes_.append(raw, 8);
  }
  void text(const std::string& value) {
    number(static_cast<int64_t>(value.size()));
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  int64_t number() {
    need(8);
    int64_t value = 0;
    std::memcpy(&value, bytes_.data(), 8);
    bytes_.remove_prefix(8);
    return value;
  }
  std::string text() {
    const int64_t size = number();
    if (size < 0) throw UserError("kernel object is damaged: negative length");
    need(static_cast<size_t>(size));
    std::string value(bytes_.substr(0, static_cast<size_t>(size)));
    bytes_.remove_prefix(static_cast<size_t>(size));
    return value;
  }
  /// The number of entries that follow, each of at least `entry_bytes`.
  int64_t count(int64_t entry_bytes) {
    const int64_t value = number();
    if (value < 0 || value > static_cast<int64_t>(bytes_.size()) / entry_bytes) {
      throw UserError("kernel object is damaged: impossible count");
    }
    return value;
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  void need(size_t size) const {
    if (bytes_.size() < size) throw UserError("kernel object is damaged: it ends too early");
  }
  std::string_view bytes_;
};

std::string checksum(std::string_view body) {
  return Hasher().bytes(body.data(), body.size()).hex();
}

}  // namespace

std::string KernelObject::serialize() const {
  Writer writer;
  writer.text(object);
  writer.number(static_cast<int64_t>(phases.size()));
  for (const Phase& phase : phases) {
    writer.text(phase.symbol);
    writer.number(phase.tasks);
    writer.number(phase.waits ? 1 : 0);
  }
  writer.number(static_cast<int64_t>(arguments.size()));
  for (const Argument& argument : arguments) {
    writer.text(argument.name);
    writer.number(argument.bytes);
    writer.number(argument.halo_bytes);
  }
  writer.number(static_cast<int64_t>(zero_fills.size()));
  for (const ZeroFill& fill : zero_fills) {
    writer.number(fill.argument);
    writer.number(fill.offset);
    writer.number(fill.bytes);
    writer.number(static_cast<int64_t>(fill.loops.size()));
    for (const ZeroFill::Loop& loop : fill.loops) {
      writer.number(loop.count);
      writer.number(loop.stride);
    }
  }
  writer.number(workspace_bytes);
  writer.number(scratch_bytes);
  const std::string body = writer.take();
  return std::string(kMagic) + checksum(body) + body;
}

KernelObject KernelObject::deserialize(const std::string& bytes) {
  const size_t header = kMagic.size() + kChecksumSize;
  if (bytes.size() < header || bytes.compare(0, kMagic.size(), kMagic) != 0) {
    throw UserError("kernel object is damaged: it does not start like one");
  }
  const std::string_view body = std::string_view(bytes).substr(header);
  if (bytes.compare(kMagic.size(), kChecksumSize, checksum(body)) != 0) {
    throw UserError("kernel object is damaged: its checksum differs");
  }
  Reader reader(body);
  KernelObject kernel;
  kernel.object = reader.text();
  for (int64_t n = reader.count(24); n > 0; --n) {
    Phase phase;
    phase.symbol = reader.text();
    phase.tasks = reader.number();
    phase.waits = reader.number() != 0;
    kernel.phases.push_back(std::move(phase));
  }
  for (int64_t n = reader.count(24); n > 0; --n) {
    Argument argument;
    argument.name = reader.text();
    argument.bytes = reader.number();
    argument.halo_bytes = reader.number();
    kernel.arguments.push_back(std::move(argument));
  }
  for (int64_t n = reader.count(32); n > 0; --n) {
    ZeroFill fill;
    fill.argument = reader.number();
    fill.offset = reader.number();
    fill.bytes = reader.number();
    for (int64_t loops = reader.count(16); loops > 0; --loops) {
      const int64_t count = reader.number();
      fill.loops.push_back({count, reader.number()});
    }
    kernel.zero_fills.push_back(std::move(fill));
  }
  kernel.workspace_bytes = reader.number();
  kernel.scratch_bytes = reader.number();
  if (!reader.at_end()) throw UserError("kernel object is damaged: bytes follow its end");
  return kernel;
}

}  // namespace opsmith::compiler
