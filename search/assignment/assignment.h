#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace opsmith::search {

/// What a budget can cap.
enum Resource : uint8_t { kMacs, kParameters, kMilliseconds, kResources };
using Resources = std::array<double, kResources>;

inline constexpr Resources kUnlimited = {std::numeric_limits<double>::infinity(),
                                         std::numeric_limits<double>::infinity(),
                                         std::numeric_limits<double>::infinity()};

/// One way to compute a layer. The first option of a layer is to leave it alone.
struct Option {
  Resources cost = {};
  double loss = 0;     ///< predicted for the whole network when only this layer has it
  std::string family;  ///< the operator without its sizes; empty for the layer as it is
};
using LayerOptions = std::vector<Option>;

/// The least that each resource can come to, on its own.
Resources least_cost(const std::vector<LayerOptions>& layers);

/// One option for each layer so that the sum of losses is least and the sums of costs stay within
/// `limits`; nullopt when nothing does. Exact by dynamic programming over the sums of costs that
/// no other dominates; when there are too many of them costs are rounded up to a 1/10,000th of the
/// limit, so that the answer still holds the limits and is at most that far from the best.
std::optional<std::vector<size_t>> assign(const std::vector<LayerOptions>& layers,
                                          const Resources& limits);

/// The same with one family of operators for all layers that it fits; others stay alone.
std::optional<std::vector<size_t>> assign_single_family(const std::vector<LayerOptions>& layers,
                                                        const Resources& limits);

/// Sum of the losses of an assignment.
double total_loss(const std::vector<LayerOptions>& layers, const std::vector<size_t>& choice);
Resources total_cost(const std::vector<LayerOptions>& layers, const std::vector<size_t>& choice);

}  // namespace opsmith::search
