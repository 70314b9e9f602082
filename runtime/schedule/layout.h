#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/tensor.h"

namespace opsmith::schedule {

/// Where the elements of a logical tensor lie in memory.
///
/// Each logical dimension is cut into one outer piece and any number of inner blocks; `order`
/// lists the pieces from slowest to fastest. NCHW with 16-channel blocks is
/// {0, 1, 2, 3, 1/16}: pieces (dimension 0 outer), (1 outer), (2 outer), (3 outer), (1 block 16).
/// A dimension that is no multiple of its blocks is padded up; padding elements hold any finite
/// number. Around each dimension there may be a halo that holds zeros: a read that leaves the
/// tensor by at most the halo needs no test.
class Layout {
 public:
  struct Piece {
    int dimension = 0;
    int64_t block = 0;  ///< extent of an inner block; 0 for the outer piece
    bool operator==(const Piece&) const = default;
  };
  struct Halo {
    int64_t before = 0;
    int64_t after = 0;
    bool operator==(const Halo&) const = default;
  };

  std::vector<Piece> order;
  std::vector<Halo> halo;  ///< per logical dimension; empty means none

  static Layout row_major(size_t rank);
  /// N C (spatial...) with channels in blocks: dimension 1 blocked by `block`.
  static Layout channel_blocked(size_t rank, int64_t block);

  bool is_row_major() const;  ///< and without halo
  bool operator==(const Layout&) const = default;

  /// Product of the inner blocks of a dimension; 1 when it is not blocked.
  int64_t block_of(int dimension) const;
  Halo halo_of(int dimension) const;

  /// Extent of each piece for a tensor of this logical shape (halo counted in outer pieces).
  std::vector<int64_t> piece_extents(const Shape& shape) const;
  /// Elements between neighbours of each piece.
  std::vector<int64_t> piece_strides(const Shape& shape) const;
  /// Elements in memory, padding and halo included.
  int64_t storage_count(const Shape& shape) const;
  /// Where the element at `position` lies. `position` may reach into the halo.
  int64_t offset(const Shape& shape, const Shape& position) const;
};

/// "0,1,2,3,1/16 halo 2:1:1,3:1:1": stable text form, parsed back by parse_layout.
std::string to_string(const Layout& layout);
Layout parse_layout(const std::string& text);

/// Copies between layouts of one logical tensor; halo of the destination is zeroed. The plain
/// form of any layout change; hot ones are compiled.
void convert_layout(const void* source, const Layout& from, void* destination, const Layout& to,
                    const Shape& shape, ElementType type);

}  // namespace opsmith::schedule
