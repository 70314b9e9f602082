#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"

namespace opsmith::graph {

/// Arithmetic on dimensions. Numbers are computed (UserError when they overflow); with symbols the
/// result is a symbol that spells the expression, "(W + 1) / 2", so that equal expressions stay
/// recognisably equal; without either it is unknown. Division rounds towards minus infinity.
Dimension operator+(const Dimension& a, const Dimension& b);
Dimension operator-(const Dimension& a, const Dimension& b);
Dimension operator*(const Dimension& a, const Dimension& b);
Dimension floor_divide(const Dimension& a, const Dimension& b);
Dimension ceil_divide(const Dimension& a, const Dimension& b);
Dimension minimum(const Dimension& a, const Dimension& b);  ///< "min(W, 512)"

/// Both dimensions, where they are known to be one: whichever says more. nullopt when they are
/// different numbers.
std::optional<Dimension> unify(const Dimension& a, const Dimension& b);
/// Shapes of one value: nullopt when ranks or numbers contradict.
std::optional<SymbolicShape> unify(const SymbolicShape& a, const SymbolicShape& b);

/// What is sure when the value is either of the two (branches of an If).
std::optional<SymbolicShape> common(const std::optional<SymbolicShape>& a,
                                    const std::optional<SymbolicShape>& b);

/// Numpy's broadcast of two shapes; nullopt when they do not fit. W against min(W, 512) is W, the
/// larger of the two where they fit at all.
std::optional<SymbolicShape> broadcast(const SymbolicShape& a, const SymbolicShape& b);

/// Product of dimensions [begin, end); equal symbols in another order give the same result.
Dimension product(const SymbolicShape& shape, size_t begin, size_t end);
/// Product of `whole` divided by the product of `parts`, equal symbols cancelled; unknown where it
/// cannot be told. nullopt when it is known not to divide.
std::optional<Dimension> quotient(const SymbolicShape& whole, const SymbolicShape& parts);

}  // namespace opsmith::graph
