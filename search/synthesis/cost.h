#pragma once

#include <vector>

#include "search/synthesis/state.h"

namespace opsmith::synthesis {

/// Multiply-accumulates and parameters, each the sum over the layers of the search, one image.
struct Cost {
  double macs = 0;
  double parameters = 0;
};

/// Cost of a complete operator. Multiply-accumulates are those of its cheapest factoring: the
/// tensors are multiplied in every order, and a reduction that no other tensor depends on is
/// summed at once. An intermediate tensor has as axes the dimensions at which the summed
/// coordinates are cut off: an unfolded coordinate whole, rather than its position and window.
/// A stage costs axes times reductions times max(factors - 1, 1).
Cost operator_cost(Space& space, const State& state, const std::vector<const Dimension*>& match);

double parameters(Space& space, const State& state);

/// What every operator grown from this state costs at least. Only once all weights are there does
/// it exceed one multiply-accumulate for each output element: the last stage that meets the data
/// reads some weight, and with it goes over all reductions which that weight and the data share.
double least_macs(Space& space, const State& state);

/// What every operator grown from this state costs at most, once no reductions are added: weights
/// may be multiplied first, summing what only they read (which does not go over open variables),
/// and then the data, over the reductions that it still reads.
double most_macs(Space& space, const State& state);

}  // namespace opsmith::synthesis
