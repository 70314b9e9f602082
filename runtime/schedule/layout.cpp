#include "runtime/schedule/layout.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sstream>
#include <utility>

#include "support/error.h"

namespace opsmith::schedule {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Offsets along one dimension: the offset of a position is the sum over dimensions of
/// table[d][position[d]], because every piece belongs to one dimension.
std::vector<std::vector<int64_t>> offset_tables(const Layout& layout, const Shape& shape) {
  const std::vector<int64_t> strides = layout.piece_strides(shape);
  std::vector<std::vector<int64_t>> tables(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    tables[d].resize(static_cast<size_t>(shape[d]), 0);
    for (int64_t p = 0; p < shape[d]; ++p) {
      int64_t rest = p;
      int64_t offset = 0;
      for (size_t i = layout.order.size(); i-- > 0;) {
        const Layout::Piece& piece = layout.order[i];
        if (piece.dimension != static_cast<int>(d) || piece.block == 0) continue;
        offset += rest % piece.block * strides[i];
        rest /= piece.block;
      }
      for (size_t i = 0; i < layout.order.size(); ++i) {
        const Layout::Piece& piece = layout.order[i];
        if (piece.dimension != static_cast<int>(d) || piece.block != 0) continue;
        offset += (rest + layout.halo_of(piece.dimension).before) * strides[i];
      }
      tables[d][static_cast<size_t>(p)] = offset;
    }
  }
  return tables;
}

template <typename T>
void copy_elements(const T* source, const Layout& from, T* destination, const Layout& to,
                   const Shape& shape) {
  const auto read = offset_tables(from, shape);
  const auto write = offset_tables(to, shape);
  const size_t rank = shape.size();
  if (rank == 0) {
    *destination = *source;
    return;
  }
  std::vector<size_t> position(rank, 0);
  const auto extent = static_cast<size_t>(shape[rank - 1]);
  const std::vector<int64_t>& read_last = read[rank - 1];
  const std::vector<int64_t>& write_last = write[rank - 1];
  while (true) {
    int64_t read_base = 0;
    int64_t write_base = 0;
    for (size_t d = 0; d + 1 < rank; ++d) {
      read_base += read[d][position[d]];
      write_base += write[d][position[d]];
    }
    for (size_t i = 0; i < extent; ++i) {
      destination[write_base + write_last[i]] = source[read_base + read_last[i]];
    }
    size_t d = rank - 1;
    while (d > 0 && ++position[d - 1] == static_cast<size_t>(shape[d - 1])) position[--d] = 0;
    if (d == 0) return;
  }
}

/// No block or halo is larger: extents and strides made of a few of them stay far from overflow.
constexpr int64_t kLargestNumber = 1 << 20;

int64_t parse_number(const std::string& text, const std::string& whole) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 ||
      value > kLargestNumber) {
    throw UserError("layout '" + whole + "': '" + text + "' is no number from 0 to " +
                    std::to_string(kLargestNumber));
  }
  return value;
}

std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

}  // namespace

Layout Layout::row_major(size_t rank) {
  Layout layout;
  for (size_t d = 0; d < rank; ++d) layout.order.push_back({static_cast<int>(d), 0});
  return layout;
}

Layout Layout::channel_blocked(size_t rank, int64_t block) {
  require(rank >= 2 && block >= 1, "channel_blocked needs two dimensions and a positive block");
  Layout layout = row_major(rank);
  layout.order.push_back({1, block});
  return layout;
}

bool Layout::is_row_major() const {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != Piece{static_cast<int>(i), 0}) return false;
  }
  return std::all_of(halo.begin(), halo.end(), [](const Halo& h) { return h == Halo{}; });
}

int64_t Layout::block_of(int dimension) const {
  int64_t block = 1;
  for (const Piece& piece : order) {
    if (piece.dimension == dimension && piece.block != 0) block *= piece.block;
  }
  return block;
}

Layout::Halo Layout::halo_of(int dimension) const {
  const auto d = static_cast<size_t>(dimension);
  return d < halo.size() ? halo[d] : Halo{};
}

std::vector<int64_t> Layout::piece_extents(const Shape& shape) const {
  std::vector<int64_t> extents;
  extents.reserve(order.size());
  for (const Piece& piece : order) {
    // Not `require`: it would build the message for every layout that fits.
    if (piece.dimension < 0 || static_cast<size_t>(piece.dimension) >= shape.size()) {
      throw InternalError("layout '" + to_string(*this) + "' does not fit shape " +
                          opsmith::to_string(shape));
    }
    if (piece.block != 0) {
      extents.push_back(piece.block);
    } else {
      const Halo h = halo_of(piece.dimension);
      extents.push_back(
          h.before + h.after +
          ceil_div(shape[static_cast<size_t>(piece.dimension)], block_of(piece.dimension)));
    }
  }
  return extents;
}

std::vector<int64_t> Layout::piece_strides(const Shape& shape) const {
  std::vector<int64_t> strides = piece_extents(shape);
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0;) stride *= std::exchange(strides[i], stride);
  return strides;
}

int64_t Layout::storage_count(const Shape& shape) const {
  int64_t count = 1;
  for (int64_t extent : piece_extents(shape)) count *= extent;
  return count;
}

int64_t Layout::offset(const Shape& shape, const Shape& position) const {
  const std::vector<int64_t> strides = piece_strides(shape);
  Shape rest = position;
  int64_t offset = 0;
  for (size_t i = order.size(); i-- > 0;) {
    const Piece& piece = order[i];
    if (piece.block == 0) continue;
    int64_t& index = rest[static_cast<size_t>(piece.dimension)];
    const int64_t quotient = floor_div(index, piece.block);
    offset += (index - quotient * piece.block) * strides[i];
    index = quotient;
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const Piece& piece = order[i];
    if (piece.block != 0) continue;
    offset +=
        (rest[static_cast<size_t>(piece.dimension)] + halo_of(piece.dimension).before) * strides[i];
  }
  return offset;
}

std::string to_string(const Layout& layout) {
  std::string text;
  for (const Layout::Piece& piece : layout.order) {
    if (!text.empty()) text += ',';
    text += std::to_string(piece.dimension);
    if (piece.block != 0) text += '/' + std::to_string(piece.block);
  }
  std::string halo;
  for (size_t d = 0; d < layout.halo.size(); ++d) {
    const Layout::Halo& h = layout.halo[d];
    if (h == Layout::Halo{}) continue;
    halo += (halo.empty() ? " halo " : ",") + std::to_string(d) + ':' + std::to_string(h.before) +
            ':' + std::to_string(h.after);
  }
  return text + halo;
}

Layout parse_layout(const std::string& text) {
  Layout layout;
  const size_t mark = text.find(" halo ");
  int outer = 0;
  for (const std::string& part : split_text(text.substr(0, mark), ',')) {
    const size_t slash = part.find('/');
    Layout::Piece piece;
    piece.dimension = static_cast<int>(parse_number(part.substr(0, slash), text));
    if (slash == std::string::npos) {
      ++outer;
    } else {
      piece.block = parse_number(part.substr(slash + 1), text);
      if (piece.block == 0) throw UserError("layout '" + text + "': a block of 0");
    }
    layout.order.push_back(piece);
  }
  std::vector<int> seen(static_cast<size_t>(outer), 0);
  std::vector<int64_t> blocks(static_cast<size_t>(outer), 1);
  for (const Layout::Piece& piece : layout.order) {
    if (piece.dimension >= outer || (piece.block == 0 && seen[piece.dimension]++ != 0)) {
      throw UserError("layout '" + text + "': dimension " + std::to_string(piece.dimension) +
                      " must have exactly one outer piece");
    }
    int64_t& block = blocks[static_cast<size_t>(piece.dimension)];
    if (piece.block != 0 && (block *= piece.block) > kLargestNumber) {
      throw UserError("layout '" + text + "': the blocks of dimension " +
                      std::to_string(piece.dimension) + " are too large");
    }
  }
  if (mark != std::string::npos) {
    layout.halo.resize(static_cast<size_t>(outer));
    for (const std::string& part : split_text(text.substr(mark + 6), ',')) {
      const std::vector<std::string> fields = split_text(part, ':');
      if (fields.size() != 3)
        throw UserError("layout '" + text + "': halo is dimension:before:after");
      const int64_t dimension = parse_number(fields[0], text);
      if (dimension >= outer) throw UserError("layout '" + text + "': halo of no dimension");
      layout.halo[static_cast<size_t>(dimension)] = {parse_number(fields[1], text),
                                                     parse_number(fields[2], text)};
    }
  }
  return layout;
}

void convert_layout(const void* source, const Layout& from, void* destination, const Layout& to,
                    const Shape& shape, ElementType type) {
  const int64_t count = element_count(shape);
  const size_t size = element_size(type);
  require(size != 0, "convert_layout of a type without fixed size");
  const auto bytes = static_cast<size_t>(to.storage_count(shape)) * size;
  if (from == to) {
    std::memcpy(destination, source, bytes);
    return;
  }
  if (to.storage_count(shape) != count) std::memset(destination, 0, bytes);
  if (count == 0) return;
  const auto copy = [&](auto unit) {
    using T = decltype(unit);
    copy_elements(static_cast<const T*>(source), from, static_cast<T*>(destination), to, shape);
  };
  switch (size) {
    case 1:
      return copy(uint8_t{});
    case 2:
      return copy(uint16_t{});
    case 4:
      return copy(uint32_t{});
    default:
      return copy(uint64_t{});
  }
}

}  // namespace opsmith::schedule
