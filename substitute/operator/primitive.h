#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "substitute/operator/size.h"

namespace opsmith::substitute {

/// Number of a coordinate in its region.
using Coordinate = int32_t;

/// A whole number that is given or named (a padding is bound with the layer: "pad_top").
struct Amount {
  int64_t value = 0;
  std::string name;  ///< empty: the amount is `value`
  bool operator==(const Amount&) const = default;
};
std::string to_string(const Amount& amount);

// The coordinate primitives (Syno, table 1). Each takes coordinates nearer to the output and
// makes coordinates nearer to the input: "[i, j]: [G, B] <- [B*i + j]: [G*B]" reads "from i over
// [0, G) and j over [0, B) comes B*i + j over [0, G*B)". Seen from the input, where the tensor is
// transformed, the very same step does the opposite; that is what gives it its name.

/// [i, j]: [G, B] <- [B*i + j]: [G*B]. Cuts a dimension into blocks.
struct Split {
  Coordinate outer = 0, inner = 0;
  Coordinate result = 0;
  bool operator==(const Split&) const = default;
};

/// [i]: [N] <- [i / B, i mod B]: [N/B, B]. Flattens two dimensions.
struct Merge {
  Coordinate source = 0;
  Size block;
  Coordinate outer = 0, inner = 0;
  bool operator==(const Merge&) const = default;
};

/// [i]: [N] <- [(i + amount) mod N]: [N]. Moves along a dimension, around its end.
struct Shift {
  Coordinate source = 0;
  Amount amount;
  Coordinate result = 0;
  bool operator==(const Shift&) const = default;
};

/// [i]: [C] <- []. Repeats (from the output: forgets a coordinate).
struct Expand {
  Coordinate source = 0;
  bool operator==(const Expand&) const = default;
};

/// [i, j]: [N, K] <- [i + j - K/2]: [N]. Sliding windows; outside [0, N) the tensor is zero.
/// A layer's own window rule is `before` (its padding at the front, instead of K/2) and `extent`
/// (of the tensor slid over, instead of N).
struct Unfold {
  Coordinate position = 0, window = 0;
  std::optional<Amount> before;
  std::optional<Size> extent;
  Coordinate result = 0;
  bool operator==(const Unfold&) const = default;
};

/// [i]: [K] <- [S*i]: [S*K]. Takes every S-th element.
struct Stride {
  Coordinate source = 0;
  Size stride;
  Coordinate result = 0;
  bool operator==(const Stride&) const = default;
};

/// [] <- sum over i of [i]: [N]. The extent is that of the result.
struct Reduce {
  Coordinate result = 0;
  bool operator==(const Reduce&) const = default;
};

/// [i]: [N] <- [i], [i]: [N], [N]. One coordinate for two tensors, multiplied element by element.
/// With both results in one tensor it takes a diagonal (shift convolution does).
struct Share {
  Coordinate source = 0;
  Coordinate first = 0, second = 0;
  bool operator==(const Share&) const = default;
};

using Primitive = std::variant<Split, Merge, Shift, Expand, Unfold, Stride, Reduce, Share>;

/// The coordinates that a primitive takes and those that it makes.
std::vector<Coordinate> sources(const Primitive& primitive);
std::vector<Coordinate> results(const Primitive& primitive);
/// "split", "merge", ...: the verb of the text form.
std::string verb(const Primitive& primitive);

}  // namespace opsmith::substitute
