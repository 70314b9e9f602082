#include "runtime/executor/layout/copy.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "support/thread_team.h"

namespace opsmith::executor {
namespace {

using schedule::Layout;

/// A tensor [N, C, H, W] in memory: where element (n, c, h, w) lies, channels in blocks of `block`
/// (1: not blocked), the elements of a block next to each other.
struct Planes {
  int64_t base = 0, batch = 0, group = 0, row = 0, column = 0;
  int64_t block = 1;

  int64_t at(int64_t n, int64_t c, int64_t h) const {
    return base + n * batch + c / block * group + c % block + h * row;
  }
};

// nullopt when the layout is neither row-major nor channel-blocked, or the rank is not 3 or 4.
std::optional<Planes> planes_of(const Layout& layout, const Shape& shape) {
  size_t rank = shape.size();
  if (rank != 3 && rank != 4) return std::nullopt;
  for (int dimension : {0, 1}) {
    if (!(layout.halo_of(dimension) == Layout::Halo{})) return std::nullopt;
  }
  Planes planes;
  planes.block = layout.block_of(1);
  Layout plain =
      planes.block == 1 ? Layout::row_major(rank) : Layout::channel_blocked(rank, planes.block);
  if (layout.order != plain.order) return std::nullopt;
  std::vector<int64_t> strides = layout.piece_strides(shape);
  planes.base = layout.offset(shape, Shape(rank, 0));
  planes.batch = strides[0];
  planes.group = strides[1];
  planes.row = rank == 4 ? strides[2] : 0;
  planes.column = strides[rank - 1];
  return planes;
}

void copy_block(const float* source, const Planes& from, float* destination, const Planes& to,
                int64_t n, int64_t c, int64_t h, int64_t channels, int64_t width) {
  if (from.block == 1) {  // to blocked: one column of the block after the other
    float* out = destination + to.at(n, c, h);
    const float* in = source + from.at(n, c, h);
    for (int64_t i = 0; i < channels; ++i) {
      const float* row = in + i * from.group;
      for (int64_t w = 0; w < width; ++w) out[w * to.block + i] = row[w];
    }
    for (int64_t i = channels; i < to.block; ++i) {
      for (int64_t w = 0; w < width; ++w) out[w * to.block + i] = 0;
    }
    return;
  }
  const float* in = source + from.at(n, c, h);
  for (int64_t i = 0; i < channels; ++i) {
    float* row = destination + to.at(n, c + i, h);
    for (int64_t w = 0; w < width; ++w) row[w] = in[w * from.block + i];
  }
}

bool has_halo(const Layout& layout, const Shape& shape) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!(layout.halo_of(static_cast<int>(i)) == Layout::Halo{})) return true;
  }
  return false;
}

class HaloCleaner {
 public:
  HaloCleaner(char* data, const Layout& layout, const Shape& shape, ElementType type)
      : data_(data),
        layout_(layout),
        shape_(shape),
        width_(static_cast<int64_t>(element_size(type))),
        extents_(layout.piece_extents(shape)),
        strides_(layout.piece_strides(shape)) {
    innermost_ = 0;
    for (size_t piece = 0; piece < layout.order.size(); ++piece) {
      if (layout.order[piece].block == 0 && halo(piece) != Layout::Halo{}) innermost_ = piece + 1;
    }
  }

  void clean(size_t piece, int64_t offset) const {
    if (piece >= innermost_) return;
    Layout::Halo border = layout_.order[piece].block == 0 ? halo(piece) : Layout::Halo{};
    int64_t begin = border.before, end = extents_[piece] - border.after;
    fill(offset, begin * strides_[piece]);
    for (int64_t i = begin; i < end; ++i) clean(piece + 1, offset + i * strides_[piece]);
    fill(offset + end * strides_[piece], border.after * strides_[piece]);
  }

 private:
  Layout::Halo halo(size_t piece) const { return layout_.halo_of(layout_.order[piece].dimension); }
  void fill(int64_t offset, int64_t count) const {
    if (count > 0) std::memset(data_ + offset * width_, 0, static_cast<size_t>(count * width_));
  }

  char* data_;
  const Layout& layout_;
  const Shape& shape_;
  int64_t width_;
  std::vector<int64_t> extents_, strides_;
  size_t innermost_;
};

/// Calls copy(row) for each row of `elements`; on several threads where that pays.
template <typename Copy>
void for_rows(ThreadTeam& team, int64_t rows, int64_t elements, const Copy& copy) {
  constexpr int64_t kWorthThreads = 32768;
  const int64_t chunks = rows * elements < kWorthThreads ? 1 : team.chunks_for(rows);
  team.run(chunks, [&](int64_t chunk, int) noexcept {
    for (int64_t i = rows * chunk / chunks; i < rows * (chunk + 1) / chunks; ++i) copy(i);
  });
}

}  // namespace

void zero_halo(void* data, const Layout& layout, const Shape& shape, ElementType type) {
  if (!has_halo(layout, shape)) return;
  HaloCleaner(static_cast<char*>(data), layout, shape, type).clean(0, 0);
}

void change_layout(const void* source, const Layout& from, void* destination, const Layout& to,
                   const Shape& shape, ElementType type, ThreadTeam& team) {
  auto in = planes_of(from, shape), out = planes_of(to, shape);
  bool fast = in && out && type == ElementType::Float32 &&
              (in->block == out->block || in->block == 1 || out->block == 1);
  if (!fast) {
    schedule::convert_layout(source, from, destination, to, shape, type);
    return;
  }
  zero_halo(destination, to, shape, type);
  int64_t block = std::max(in->block, out->block);
  int64_t height = shape.size() == 4 ? shape[2] : 1, width = shape.back();
  int64_t groups = (shape[1] + block - 1) / block;
  int64_t rows = shape[0] * groups * height;
  const auto* from_data = static_cast<const float*>(source);
  auto* to_data = static_cast<float*>(destination);
  for_rows(team, rows, width * block, [&](int64_t item) noexcept {
    int64_t h = item % height, group = item / height % groups, n = item / height / groups;
    int64_t c = group * block;
    if (in->block == out->block) {
      std::memcpy(to_data + out->at(n, c, h), from_data + in->at(n, c, h),
                  static_cast<size_t>(width * block) * sizeof(float));
    } else {
      copy_block(from_data, *in, to_data, *out, n, c, h, std::min(block, shape[1] - c), width);
    }
  });
}

void join_channels(const std::vector<JoinPart>& parts, void* destination, const Layout& to,
                   const Shape& shape, ThreadTeam& team) {
  Planes out = *planes_of(to, shape);
  int64_t height = shape.size() == 4 ? shape[2] : 1, width = shape.back();
  auto* to_data = static_cast<float*>(destination);
  auto in_place = [&](const JoinPart& part, int64_t channel) {
    return part.data == to_data + channel / out.block * out.group;
  };
  int64_t first = 0;
  bool copies = false;
  for (const JoinPart& part : parts) {
    copies = copies || !in_place(part, first);
    first += part.channels;
  }
  if (!copies) return;
  zero_halo(destination, to, shape, ElementType::Float32);
  first = 0;
  for (const JoinPart& part : parts) {
    if (in_place(part, first)) {
      first += part.channels;
      continue;
    }
    Shape part_shape = shape;
    part_shape[1] = part.channels;
    Planes in = *planes_of(part.layout, part_shape);
    const auto* from_data = static_cast<const float*>(part.data);
    int64_t groups = (part.channels + in.block - 1) / in.block;
    int64_t rows = shape[0] * groups * height;
    for_rows(team, rows, width * in.block, [&](int64_t item) noexcept {
      int64_t h = item % height, group = item / height % groups, n = item / height / groups;
      int64_t c = group * in.block;
      std::memcpy(to_data + out.at(n, first + c, h), from_data + in.at(n, c, h),
                  static_cast<size_t>(width * in.block) * sizeof(float));
    });
    first += part.channels;
  }
}

}  // namespace opsmith::executor
