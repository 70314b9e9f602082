#pragma once

#include <vector>

#include "search/synthesis/canvas/kernel.h"

namespace opsmith::synthesis::canvas {

/// A way to make a Broadcast legal: nothing to replace, or one dynamic variable and what by.
struct Match {
  int variable = -1;
  Extent by{};
  bool operator==(const Match&) const = default;
};

/// The ways in which the left shape can be broadcast into the right one (Canvas, section 6.2). With
/// M the size of the right shape's own dimensions over that of the left's:
///   - a dynamic variable on the left (in M's denominator) may be any factor of the rest of M;
///   - one on the right stays and is a multiple of M's denominator; a C there is taken into the
///     variable (x becomes C*x), because primary variables do not divide;
///   - without any, M has to be a whole number.
/// Empty when the broadcast is illegal.
std::vector<Match> match_shapes(Targets& targets, const TensorShape& left,
                                const TensorShape& right);

/// All monomials f for which both f and n/f are made of C, H, W, the dynamic variable, the window
/// and the groups with legal powers: g may divide where C or a dynamic variable stands above it.
std::vector<Extent> factors(const Extent& n);

}  // namespace opsmith::synthesis::canvas
