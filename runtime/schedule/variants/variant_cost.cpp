#include "runtime/schedule/variants/variant_cost.h"

#include <algorithm>

#include "runtime/schedule/variants/winograd.h"

namespace opsmith::schedule {
namespace {

/// Multiply-adds in a cycle of one core: one vector of 16 with AVX-512, two of 8 with AVX2.
constexpr double kMultiplyAdds = 16;
/// Bytes in a cycle from memory, of all cores together, as far as arithmetic does not hide them.
constexpr double kMemoryBytes = 8;
/// Cycles to transform one vector of channels of a tile there and back, per element of the tile:
/// loads, sums and stores of both passes, in and out of the second-level cache.
constexpr double kTransformCycles = 8;

double bytes_of_weights(const expression::Program& program) {
  return 4.0 * static_cast<double>(expression::parameter_count(program));
}

}  // namespace

double variant_cycles(const expression::Program& defining, const Variant& variant,
                      const Target& target) {
  const double threads = std::max(target.threads, 1);
  const double loads = bytes_of_weights(variant.program) / kMemoryBytes;
  if (variant.prepared.empty()) {
    const auto products = static_cast<double>(expression::multiply_accumulates(defining));
    return products / kMultiplyAdds / threads + loads;
  }
  const WinogradShape shape = winograd_shape(variant);
  const auto elements = static_cast<double>(shape.size * shape.size);
  const auto tiles = static_cast<double>(shape.batch * shape.across * shape.down);
  const auto channels = static_cast<double>(shape.channels);
  const auto outputs = static_cast<double>(shape.outputs);
  const double products = elements * tiles * channels * outputs / kMultiplyAdds;
  const double transforms =
      kTransformCycles * elements * tiles * (channels + outputs) / kMultiplyAdds;
  return (products + transforms) / threads + loads;
}

}  // namespace opsmith::schedule
