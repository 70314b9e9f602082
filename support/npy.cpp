#include "support/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "support/error.h"
#include "support/file.h"

namespace opsmith {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  ElementType type = ElementType::Undefined;
  bool swapped = false;
  bool fortran_order = false;
  Shape shape;
  size_t data_offset = 0;
};

/// NumPy's spelling without the byte order: kind and bytes.
constexpr std::array<std::pair<std::string_view, ElementType>, 12> kTypes{{
    {"f4", ElementType::Float32},
    {"f8", ElementType::Float64},
    {"f2", ElementType::Float16},
    {"i1", ElementType::Int8},
    {"i2", ElementType::Int16},
    {"i4", ElementType::Int32},
    {"i8", ElementType::Int64},
    {"u1", ElementType::UInt8},
    {"u2", ElementType::UInt16},
    {"u4", ElementType::UInt32},
    {"u8", ElementType::UInt64},
    {"b1", ElementType::Bool},
}};

[[noreturn]] void damaged(const std::string& origin, const std::string& what) {
  throw UserError("'" + origin + "' is not a usable .npy file: " + what +
                  "; write it again with numpy.save");
}

/// The value of a key in the header's Python dictionary, up to the comma or brace that ends it.
std::string_view field(std::string_view header, std::string_view key, const std::string& origin) {
  const std::string quoted = "'" + std::string(key) + "'";
  size_t at = header.find(quoted);
  if (at == std::string_view::npos) damaged(origin, "its header has no " + quoted);
  at = header.find(':', at + quoted.size());
  if (at == std::string_view::npos) damaged(origin, "its header is cut off");
  ++at;
  while (at < header.size() && header[at] == ' ') ++at;
  size_t end = at;
  if (at < header.size() && header[at] == '(') {
    end = header.find(')', at);
    if (end == std::string_view::npos) damaged(origin, "its shape is cut off");
    ++end;
  } else {
    end = header.find_first_of(",}", at);
    if (end == std::string_view::npos) damaged(origin, "its header is cut off");
  }
  return header.substr(at, end - at);
}

void parse_type(std::string_view text, Header& header, const std::string& origin) {
  if (text.size() < 4 || text.front() != '\'' || text.back() != '\'') {
    damaged(origin, "element type " + std::string(text) + " (structured types are not tensors)");
  }
  const char order = text[1];
  const std::string_view kind = text.substr(2, text.size() - 3);
  for (const auto& [spelling, type] : kTypes) {
    if (kind == spelling) header.type = type;
  }
  if (header.type == ElementType::Undefined ||
      std::string_view("<>|=").find(order) == std::string_view::npos) {
    damaged(origin,
            "element type " + std::string(text) + " is not one of f2 f4 f8 i1..i8 u1..u8 b1");
  }
  header.swapped = order == '>' && element_size(header.type) > 1;
}

Shape parse_shape(std::string_view text, const std::string& origin) {
  Shape shape;
  size_t at = 0;
  if (text.empty() || text[at++] != '(') damaged(origin, "its shape is no tuple");
  while (at < text.size() && text[at] != ')') {
    if (text[at] == ' ' || text[at] == ',') {
      ++at;
      continue;
    }
    int64_t extent = 0;
    const size_t begin = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      if (at - begin > 17) damaged(origin, "its shape " + std::string(text) + " is absurd");
      extent = extent * 10 + (text[at] - '0');
    }
    if (at == begin) damaged(origin, "its shape " + std::string(text) + " is no tuple of sizes");
    shape.push_back(extent);
  }
  return shape;
}

Header parse_header(std::string_view bytes, const std::string& origin) {
  if (bytes.size() < 10 || bytes.substr(0, kMagic.size()) != kMagic) {
    damaged(origin, "it does not begin as one");
  }
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[i])); };
  const size_t major = byte(6);
  if (major < 1 || major > 3) damaged(origin, "version " + std::to_string(major) + " is unknown");
  size_t begin = 10;
  size_t length = byte(8) | byte(9) << 8;
  if (major > 1) {
    if (bytes.size() < 12) damaged(origin, "its header is cut off");
    length |= byte(10) << 16 | byte(11) << 24;
    begin = 12;
  }
  if (length > bytes.size() - begin) damaged(origin, "its header is cut off");
  const std::string_view text = bytes.substr(begin, length);

  Header header;
  parse_type(field(text, "descr", origin), header, origin);
  const std::string_view order = field(text, "fortran_order", origin);
  if (order != "True" && order != "False") damaged(origin, "its fortran_order is no truth value");
  header.fortran_order = order == "True";
  header.shape = parse_shape(field(text, "shape", origin), origin);
  header.data_offset = begin + length;
  return header;
}

void swap_bytes(Tensor& tensor) {
  const size_t size = element_size(tensor.type());
  char* at = static_cast<char*>(tensor.raw());
  for (int64_t i = 0; i < tensor.count(); ++i, at += size) std::reverse(at, at + size);
}

/// Copies column-major elements at `source` into a row-major tensor.
void copy_transposed(const char* source, Tensor& tensor) {
  const size_t size = element_size(tensor.type());
  const Shape& shape = tensor.shape();
  std::vector<int64_t> position(shape.size(), 0);
  char* target = static_cast<char*>(tensor.raw());
  for (int64_t i = 0; i < tensor.count(); ++i, target += size) {
    int64_t offset = 0;
    for (size_t d = shape.size(); d-- > 0;) offset = offset * shape[d] + position[d];
    std::memcpy(target, source + static_cast<size_t>(offset) * size, size);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++position[d] < shape[d]) break;
      position[d] = 0;
    }
  }
}

}  // namespace

Tensor parse_npy(std::string_view bytes, const std::string& origin, const SampleRange& samples) {
  const Header header = parse_header(bytes, origin);
  const std::string_view data = bytes.substr(header.data_offset);
  int64_t count = 0;
  try {
    count = element_count(header.shape);
  } catch (const UserError&) {
    damaged(origin, "its shape " + to_string(header.shape) + " is absurd");
  }
  const size_t size = element_size(header.type);
  // Compared by elements: count * size could overflow, and memory for a shape that the file
  // cannot fill must never be asked for.
  if (static_cast<uint64_t>(count) != data.size() / size || data.size() % size != 0) {
    damaged(origin, "its shape " + to_string(header.shape) + " of " + to_string(header.type) +
                        " does not fit the " + std::to_string(data.size()) + " bytes that follow");
  }
  Tensor tensor;
  if (header.fortran_order && header.shape.size() > 1) {
    tensor = Tensor(header.type, header.shape);
    copy_transposed(data.data(), tensor);
    tensor = slice_samples(tensor, samples, origin);
  } else {
    // A view first: only the samples that are asked for are copied.
    const Tensor whole =
        Tensor::view(header.type, header.shape, const_cast<char*>(data.data()), nullptr);
    tensor = samples.all() ? whole.clone() : slice_samples(whole, samples, origin);
  }
  if (header.swapped) swap_bytes(tensor);
  return tensor;
}

Tensor read_npy(const std::string& path, const SampleRange& samples) {
  return parse_npy(MappedFile::open(path)->bytes(), path, samples);
}

std::string npy_bytes(const Tensor& tensor) {
  std::string_view spelling;
  for (const auto& [text, type] : kTypes) {
    if (type == tensor.type()) spelling = text;
  }
  if (spelling.empty()) {
    throw UserError("a tensor of type " + to_string(tensor.type()) +
                    " cannot be written as .npy: NumPy has no such type");
  }
  const char order = element_size(tensor.type()) == 1 ? '|' : '<';
  std::string header = "{'descr': '" + std::string(1, order) + std::string(spelling) +
                       "', 'fortran_order': False, 'shape': (";
  for (const int64_t extent : tensor.shape()) header += std::to_string(extent) + ", ";
  // Python writes a tuple of one as "(3,)" and of several as "(3, 4)".
  if (tensor.rank() > 0) header.resize(header.size() - (tensor.rank() == 1 ? 1 : 2));
  header += "), }";
  const size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';
  if (header.size() > 0xffff) throw UserError("a tensor of absurd rank cannot be written as .npy");

  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  if (tensor.bytes() > 0) bytes.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
  return bytes;
}

void write_npy(const std::string& path, const Tensor& tensor) {
  write_file(path, npy_bytes(tensor));
}

}  // namespace opsmith
