#pragma once

#include <optional>
#include <vector>

#include "runtime/expression/program.h"

namespace opsmith::expression {

/// The stage, still without a name, of the shape of the tensor that `read` reads, which adds
/// `upstream` at each point of `space` to the element that is read there: a gather where the read's
/// indices can be inverted without visiting many more points, a scatter otherwise. `upstream` reads
/// tensors of `program`, with `fill` outside of them. Sums in `accumulation` if that is a float.
Stage adjoint(const Program& program, const Scalar& read, const std::vector<Axis>& space,
              const Scalar& upstream, double fill, ElementType accumulation);

/// The condition that a position lies in [0, extent).
Scalar in_domain(const Scalar& position, const Index& extent);
/// a and b; just b without a.
Scalar both(const std::optional<Scalar>& a, const Scalar& b);

}  // namespace opsmith::expression
