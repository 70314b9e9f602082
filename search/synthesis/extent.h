#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "search/synthesis/hash_table.h"
#include "search/synthesis/mix.h"
#include "substitute/operator/size.h"

namespace opsmith::synthesis {

/// A size variable as a search uses it: with the values that it takes in each layer for which one
/// operator is sought. What an operator may be depends on all of them (exact division).
struct Variable {
  std::string name;
  std::vector<int64_t> values;  ///< one for each layer
  bool open = false;            ///< left open by layers (image sizes): weights may not depend on it
};

/// A monomial of at most 16 size variables: their powers, by number. The search's own form of
/// substitute::Size: fixed in size, compared and multiplied in a few instructions.
class Extent {
 public:
  static constexpr size_t capacity = 16;
  int power(size_t variable) const {
    return static_cast<int8_t>(words_[variable / 8] >> variable % 8 * 8);
  }
  void set_power(size_t variable, int power) {
    const size_t shift = variable % 8 * 8;
    uint64_t& word = words_[variable / 8];
    word = (word & ~(0xffull << shift)) | static_cast<uint64_t>(static_cast<uint8_t>(power))
                                              << shift;
  }
  bool is_one() const { return (words_[0] | words_[1]) == 0; }

  bool operator==(const Extent&) const = default;
  auto operator<=>(const Extent&) const = default;  ///< some total order
  friend Extent operator*(const Extent& a, const Extent& b) {
    return {add(a.words_[0], b.words_[0]), add(a.words_[1], b.words_[1])};
  }
  friend Extent operator/(const Extent& a, const Extent& b) {
    return {subtract(a.words_[0], b.words_[0]), subtract(a.words_[1], b.words_[1])};
  }
  /// One flag in the top bit of the byte of each variable with a negative (a positive) power;
  /// variables 0 to 7 are in word 0, the others in word 1.
  uint64_t negative(size_t word) const { return words_[word] & top; }
  uint64_t positive(size_t word) const {
    return ((words_[word] & ~top) + ~top) & ~words_[word] & top;
  }

  uint64_t hash() const { return mix(mix(words_[0]) + words_[1]); }

  Extent() = default;

 private:
  Extent(uint64_t low, uint64_t high) : words_{low, high} {}
  // Eight signed bytes at a time: the top bits apart, so that nothing carries over.
  static constexpr uint64_t top = 0x8080808080808080u;
  static uint64_t add(uint64_t a, uint64_t b) {
    return ((a & ~top) + (b & ~top)) ^ ((a ^ b) & top);
  }
  static uint64_t subtract(uint64_t a, uint64_t b) {
    return ((a | top) - (b & ~top)) ^ ((a ^ ~b) & top);
  }
  std::array<uint64_t, 2> words_{};
};

/// An extent with what the search asks of it. Made by a `SizeTable`, which keeps one object for
/// each extent: pointers to equal extents are equal.
struct SizeInfo {
  Extent extent;
  uint64_t hash = 0;
  bool whole = false;    ///< legal, and a whole number of at least 1 in every layer
  bool open = false;     ///< holds an open variable
  bool primary = false;  ///< holds a primary variable
  int primaries = 0;     ///< sum of the powers of its primary variables
  double smallest = 0;   ///< over the layers
  double largest = 0;
  std::vector<double> values;  ///< by layer, whole or not
};

/// The variables of a search and the extents seen so far. Not for use by several threads.
class SizeTable {
 public:
  /// Throws UserError on more than 16 variables or a different number of layers.
  explicit SizeTable(std::vector<Variable> variables);
  SizeTable(const SizeTable&) = delete;
  SizeTable& operator=(const SizeTable&) = delete;

  const SizeInfo* find(const Extent& extent);
  const SizeInfo* one() { return find(Extent{}); }
  const SizeInfo* product(const SizeInfo* a, const SizeInfo* b) {
    return find(a->extent * b->extent);
  }
  const SizeInfo* quotient(const SizeInfo* a, const SizeInfo* b) {
    return find(a->extent / b->extent);
  }

  /// Throws UserError when the size has a rational factor or a variable that is not of this table.
  const SizeInfo* find(const substitute::Size& size);
  substitute::Size size(const SizeInfo* info) const;
  std::string text(const SizeInfo* info) const { return to_string(size(info)); }

  const std::vector<Variable>& variables() const { return variables_; }
  bool is_primary(size_t variable) const { return primary_[variable]; }
  /// Positive flags at the primary variables.
  uint64_t primaries(size_t word) const { return primaries_.positive(word); }
  uint64_t opens(size_t word) const { return opens_.positive(word); }
  size_t layers() const { return variables_.empty() ? 1 : variables_[0].values.size(); }
  /// The value in one layer, whole or not.
  double value(const Extent& extent, size_t layer) const;

 private:
  bool is_whole(const Extent& extent) const;

  std::vector<Variable> variables_;
  std::vector<bool> primary_;
  Extent primaries_, opens_;
  std::deque<SizeInfo> infos_;
  HashTable<const SizeInfo*> known_;
};

}  // namespace opsmith::synthesis
