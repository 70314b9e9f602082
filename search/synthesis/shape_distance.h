#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/synthesis/extent.h"

namespace opsmith::synthesis {

/// By what means dimensions that the input does not have can still be got rid of.
enum class Elimination : uint8_t {
  Windows,      ///< one in a step, and only without primary variables: windows of Unfolds
  Any,          ///< one in a step, whatever its extent: Expands are left
  Contraction,  ///< any number in one step, but without open variables: another weight may come
  Everything,   ///< any number in one step, whatever their extents: both Expands and weights
};

/// The least number of primitives between a multiset of extents and the desired ones (Syno,
/// section 7.1 and appendix A), counting those that matter to shapes:
///
///   Merge       one extent becomes two whole ones with that product
///   Split       two extents become their product
///   eliminate   as `Elimination` says
///
/// It is exact for these moves, so that it is a lower bound for all operators: each group of
/// current and desired dimensions that is connected by reshapes takes at least (and, by splitting
/// all and merging again, at most) |current| + |desired| + |eliminated| - 2 of them, and
/// eliminations cost one each, or one in all where a contraction takes them together. The minimum
/// is over all groupings.
class ShapeDistance {
 public:
  static constexpr int unreachable = 100;

  ShapeDistance(SizeTable& sizes, std::vector<const SizeInfo*> desired);

  /// Identifies a multiset of extents, of which each contributes its part: what a search looks up
  /// most often need not be listed first.
  static uint64_t key_part(const SizeInfo* extent) { return mix(extent->hash); }

  /// The distance of the multiset of that key if it is known well enough to be compared with
  /// `most`, -1 otherwise.
  int known(uint64_t key, size_t count, Elimination elimination, int most);

  /// The distance; where it is more than `most`, something more than `most` (which is found
  /// sooner).
  int operator()(std::span<const SizeInfo* const> current, Elimination elimination,
                 int most = unreachable);

 private:
  struct Search;
  static uint64_t table_key(uint64_t key, size_t count, Elimination elimination) {
    return key + static_cast<uint64_t>(elimination) + count * 8;
  }
  int compute(std::vector<const SizeInfo*> current, Elimination elimination, int bound);

  SizeTable& sizes_;
  std::vector<const SizeInfo*> desired_;
  /// Every way to put the desired dimensions into groups: products and sizes of the groups.
  struct Group {
    Extent product;
    int desired = 0;
  };
  std::vector<std::vector<Group>> groupings_;
  struct Known {
    int8_t distance = 0;
    bool exact = false;  ///< otherwise the distance is at least this
  };
  HashTable<Known> known_;
};

}  // namespace opsmith::synthesis
