#include "runtime/schedule/variants/winograd_transforms.h"

namespace opsmith::schedule {

using expression::Scalar;

namespace {

Scalar times(double factor, const Scalar& value) { return Scalar::constant(factor) * value; }

}  // namespace

WinogradTransforms::Values WinogradTransforms::input(const Values& d) const {
  if (outputs == 2) return {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
  const Scalar even = d[4] - times(4, d[2]);
  const Scalar odd = d[3] - times(4, d[1]);
  const Scalar even_half = d[4] - d[2];
  const Scalar odd_half = times(2, d[3] - d[1]);
  return {times(4, d[0]) - times(5, d[2]) + d[4],
          even + odd,
          even - odd,
          even_half + odd_half,
          even_half - odd_half,
          times(4, d[1]) - times(5, d[3]) + d[5]};
}

WinogradTransforms::Values WinogradTransforms::weight(const Values& g) const {
  if (outputs == 2) {
    const Scalar ends = times(0.5, g[0] + g[2]);
    const Scalar middle = times(0.5, g[1]);
    return {g[0], ends + middle, ends - middle, g[2]};
  }
  const Scalar ends = times(-1.0 / 6, g[0] + g[2]);
  const Scalar middle = times(-1.0 / 6, g[1]);
  const Scalar weighted = times(1.0 / 24, g[0]) + times(1.0 / 6, g[2]);
  const Scalar half = times(1.0 / 12, g[1]);
  return {times(0.25, g[0]), ends + middle, ends - middle, weighted + half, weighted - half, g[2]};
}

WinogradTransforms::Values WinogradTransforms::output(const Values& m) const {
  const Scalar sum = m[1] + m[2];
  const Scalar difference = m[1] - m[2];
  if (outputs == 2) return {m[0] + sum, difference - m[3]};
  const Scalar far_sum = m[3] + m[4];
  const Scalar far_difference = m[3] - m[4];
  return {m[0] + sum + far_sum, difference + times(2, far_difference), sum + times(4, far_sum),
          difference + times(8, far_difference) + m[5]};
}

Scalar choose(const expression::Index& row, const std::vector<Scalar>& values) {
  Scalar chosen = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) {
    const Scalar here = Scalar::binary(expression::Binary::Equal, Scalar::position(row),
                                       Scalar::constant(static_cast<double>(i)));
    chosen = Scalar::select(here, values[i], chosen);
  }
  return chosen;
}

}  // namespace opsmith::schedule
