#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "search/synthesis/dimension.h"
#include "search/synthesis/limits.h"
#include "search/synthesis/problem.h"

namespace opsmith::synthesis {

/// Up to 14 dimensions, kept in the order of their hashes.
class DimensionSet {
 public:
  static constexpr int capacity = 14;
  int size() const { return size_; }
  const Dimension* operator[](int i) const { return items_[static_cast<size_t>(i)]; }
  const Dimension* const* begin() const { return items_.data(); }
  const Dimension* const* end() const { return items_.data() + size_; }
  bool full() const { return size_ == capacity; }
  void insert(const Dimension* dimension);
  void erase(int i);
  int find(const Dimension* dimension) const;  ///< -1 when absent
  bool operator==(const DimensionSet& other) const;
  uint64_t hash() const;

 private:
  std::array<const Dimension*, capacity> items_{};
  int size_ = 0;
};

/// One step of growing an operator.
struct Move {
  enum class Kind : uint8_t { Reduce, Split, Merge, Shift, Expand, Unfold, Stride, Contract };
  static constexpr int kinds = 8;
  Kind kind = Kind::Reduce;
  const Dimension* first = nullptr;   ///< source; outer of a Split, position of an Unfold
  const Dimension* second = nullptr;  ///< inner of a Split, window of an Unfold
  const SizeInfo* size = nullptr;     ///< extent of a Reduce, block of a Merge, a Stride's stride
  uint16_t shared = 0;  ///< Contract: bits of the data dimensions that data and weight both read
  uint16_t moved = 0;   ///< Contract: bits of those that only the weight reads from here on

  bool operator==(const Move&) const = default;
};
std::string to_string(Move::Kind kind);

/// A partial operator: the topmost dimensions, from which it is grown towards the input. Knows
/// nothing of how it was reached beyond what its further growth depends on.
struct State {
  static constexpr int most_weights = 3;
  DimensionSet data;
  std::array<DimensionSet, most_weights> weights;
  DimensionSet expanded;
  int8_t weight_count = 0;
  int8_t depth = 0;
  bool reducing = true;  ///< only reductions so far: more may come
  std::array<int8_t, Move::kinds> counts{};

  int count(Move::Kind kind) const { return counts[static_cast<size_t>(kind)]; }
  bool operator==(const State&) const = default;
  uint64_t hash() const;
};

/// What a search works in: the problem, the limits, the stores of sizes and dimensions. One for
/// each thread.
class Space {
 public:
  Space(const Problem& problem, const Limits& limits);

  const Problem& problem() const { return problem_; }
  const Limits& limits() const { return limits_; }
  SizeTable& sizes() { return sizes_; }
  DimensionStore& dimensions() { return dimensions_; }

  /// Nothing but the output's coordinates.
  State root();
  /// The state after a move, which must be one that fits it (`Enumerator` offers only such).
  State apply(const State& state, const Move& move);

  const std::vector<const SizeInfo*>& input() const { return input_; }
  const std::vector<const SizeInfo*>& output() const { return output_; }
  /// Extents that Reduce and Merge may introduce, in a fixed order: monomials under the limits.
  const std::vector<const SizeInfo*>& extents() const { return extents_; }
  /// Those by which a dimension of an extent can be merged.
  const std::vector<const SizeInfo*>& blocks(const SizeInfo* extent);
  /// Bytes per element times the elements, in the largest layer, for one image.
  double bytes(const SizeInfo* elements) const { return 4 * elements->largest; }

 private:
  void enumerate_extents();

  Problem problem_;
  Limits limits_;
  SizeTable sizes_;
  DimensionStore dimensions_;
  std::vector<const SizeInfo*> input_, output_;
  std::vector<const SizeInfo*> extents_;
  std::unordered_map<const SizeInfo*, std::vector<const SizeInfo*>> blocks_;
};

}  // namespace opsmith::synthesis
