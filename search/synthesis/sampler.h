#pragma once

#include <functional>
#include <unordered_set>
#include <vector>

#include "search/synthesis/cost.h"
#include "search/synthesis/operator.h"
#include "search/synthesis/state_graph.h"
#include "support/random.h"

namespace opsmith::synthesis {

/// States that one thread may remember; beyond, it starts over with an empty graph.
constexpr size_t most_states = 300000;

/// A distinct operator that satisfies every limit.
struct Sample {
  FoundOperator found;
  Cost cost;
};

struct SamplingOptions {
  double seconds = 10;
  int64_t trials = INT64_MAX;     ///< whichever of the two ends first
  int64_t operators = INT64_MAX;  ///< or this many
  int threads = 1;
  uint64_t seed = 1;
};

/// What a run of random descents came to. A trial is one descent from the root to an end; a dead
/// end, an operator over a limit and one seen before count as trials.
struct SamplingResult {
  std::vector<Sample> samples;
  int64_t trials = 0;
  int64_t dead_ends = 0;
  int64_t over_limits = 0;  ///< complete, but outside the limits on cost or pooling
  int64_t repeated = 0;
  int64_t states = 0;
  double seconds = 0;
  EnumerationCounters counters;

  double trials_per_second() const { return static_cast<double>(trials) / seconds; }
  double distinct_per_second() const { return static_cast<double>(samples.size()) / seconds; }
};

/// Goes from the root by a random kind of primitive, then a random instance of it, until it ends
/// an operator or nothing can follow. Each thread grows a graph of states of its own; distinct
/// operators are told by formula across all.
SamplingResult sample(const Problem& problem, const Limits& limits, const SamplingOptions& options);

/// The ways to end here that satisfy the limits which only whole operators can be held to.
std::vector<std::pair<std::vector<const Dimension*>, Cost>> endings(Space& space,
                                                                    const State& state);

}  // namespace opsmith::synthesis
