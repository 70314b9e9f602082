#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "search/synthesis/extent.h"

namespace opsmith::synthesis {

/// A coordinate of a partial operator: made from output coordinates and reductions by primitives
/// (substitute/operator/primitive.h says what each computes). Hash-consed: a `DimensionStore`
/// keeps one object for each, so that equal dimensions are equal pointers.
struct Dimension {
  enum class Kind : uint8_t {
    Iterator,    ///< of the output, by `number`
    Reduce,      ///< summed over, by `number`
    Split,       ///< extent(second) * first + second
    MergeOuter,  ///< first / block
    MergeInner,  ///< first mod block
    Shift,       ///< (first + 1) mod extent
    Unfold,      ///< first + second - extent(second) / 2
    Stride,      ///< stride * first; the stride is `block`
    Share,       ///< first, which weight `number` reads too
  };
  Kind kind = Kind::Iterator;
  int8_t number = 0;
  const SizeInfo* extent = nullptr;
  const Dimension* first = nullptr;
  const Dimension* second = nullptr;
  const SizeInfo* block = nullptr;

  int id = 0;  ///< counts the dimensions of a store
  // What follows from the above:
  uint64_t hash = 0;        ///< of the structure, the same in every store
  uint16_t reductions = 0;  ///< bits of the reductions, by number, that the value depends on
  int8_t weight = -1;       ///< the latest weight that the dimension or one below is shared with
  uint8_t reshapes = 0;     ///< Splits and Merges in a row that end here
  bool ordered = false;     ///< neighbours mean something: image rows, not channels
  bool reduced = false;     ///< made from reductions only
  bool unfolded = false;    ///< an Unfold is in it: not to be expanded, for its zeros
  bool strided = false;     ///< a Stride that no Unfold has consumed

  bool is(Kind k) const { return kind == k; }
};

/// The dimension without the Shares on top of it.
const Dimension* beneath_shares(const Dimension* dimension);

/// Made by one thread, used by that thread.
class DimensionStore {
 public:
  explicit DimensionStore(SizeTable& sizes) : sizes_(sizes) {}
  DimensionStore(const DimensionStore&) = delete;
  DimensionStore& operator=(const DimensionStore&) = delete;

  const Dimension* iterator(int number, const SizeInfo* extent, bool ordered);
  const Dimension* reduce(int number, const SizeInfo* extent);
  const Dimension* split(const Dimension* outer, const Dimension* inner);
  const Dimension* merge_outer(const Dimension* source, const SizeInfo* block);
  const Dimension* merge_inner(const Dimension* source, const SizeInfo* block);
  const Dimension* shift(const Dimension* source);
  const Dimension* unfold(const Dimension* position, const Dimension* window);
  const Dimension* stride(const Dimension* source, const SizeInfo* stride);
  const Dimension* share(const Dimension* source, int weight);

  SizeTable& sizes() { return sizes_; }
  size_t count() const { return dimensions_.size(); }

 private:
  const Dimension* intern(Dimension dimension);
  const Dimension* view(Dimension::Kind kind, const SizeInfo* extent, const Dimension* first,
                        const Dimension* second, const SizeInfo* block);

  SizeTable& sizes_;
  std::deque<Dimension> dimensions_;
  HashTable<const Dimension*> known_;
};

}  // namespace opsmith::synthesis
