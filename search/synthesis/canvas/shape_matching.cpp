#include "search/synthesis/canvas/shape_matching.h"

#include <algorithm>

namespace opsmith::synthesis::canvas {

std::vector<Extent> factors(const Extent& n) {
  std::vector<Extent> found = {Extent{}};
  for (size_t v = 0; v < Extent::capacity; ++v) {
    if (v == Groups) continue;
    const int most = n.power(v);
    if (most < 0) return {};
    const size_t before = found.size();
    for (size_t i = 0; i < before; ++i)
      for (int power = 1; power <= most; ++power) {
        found.push_back(found[i]);
        found.back().set_power(v, power);
      }
  }
  // Each C on a side allows one g below it there; what C cannot carry, a dynamic variable does.
  const auto dynamic = [](const Extent& extent) { return dynamic_variable(extent) >= 0 ? 1 : 0; };
  const int carried = std::max(0, -n.power(Groups) - n.power(Channels));
  const auto most_below = [&](const Extent& extent) {
    return extent.power(Channels) + carried * dynamic(extent);
  };
  std::vector<Extent> all;
  for (const Extent& factor : found) {
    const int least = -most_below(factor);
    const int most = n.power(Groups) + most_below(n / factor);
    for (int power = least; power <= most; ++power) {
      all.push_back(factor);
      all.back().set_power(Groups, power);
    }
  }
  return all;
}

std::vector<Match> match_shapes(Targets& targets, const TensorShape& left,
                                const TensorShape& right) {
  const Mismatch rest = mismatch(left, right);
  const Extent ratio = rest.right / rest.left;
  std::vector<Match> matches;
  for (size_t v = FirstDynamic; v < Extent::capacity; ++v) {
    if (ratio.power(v) >= 0) continue;
    if (ratio.power(v) < -1) return {};
    Extent numerator = ratio;
    numerator.set_power(v, 0);
    for (const Extent& factor : factors(numerator))
      if (targets.may_be_whole(factor) && targets.may_be_whole(numerator / factor))
        matches.push_back({static_cast<int>(v), factor});
    return matches;
  }
  if (targets.may_be_whole(ratio)) return {Match{}};
  // A free width on the right takes in the channels that it must be a multiple of.
  const int dynamic = dynamic_variable(ratio);
  if (dynamic < 0 || ratio.power(Channels) != -1) return {};
  Extent by;
  by.set_power(static_cast<size_t>(dynamic), 1);
  by.set_power(Channels, 1);
  Extent channel;
  channel.set_power(Channels, 1);
  if (!targets.may_be_whole(ratio * channel)) return {};
  return {Match{dynamic, by}};
}

}  // namespace opsmith::synthesis::canvas
