#pragma once

#include <map>

#include "search/synthesis/sampler.h"

namespace opsmith::synthesis {

/// How many of the operators of a size are in canonical form (Syno, table 2).
struct CanonicalRate {
  int64_t operators = 0;  ///< complete ones that random descents without rules came to
  int64_t canonical = 0;  ///< those of which no step breaks a rule

  double share() const { return static_cast<double>(canonical) / static_cast<double>(operators); }
};

/// Rates by number of primitives: descents with all rules switched off (whatever `limits` say),
/// each way to an operator being one, and the rules asked afterwards. One thread.
std::map<int, CanonicalRate> canonical_rates(const Problem& problem, Limits limits,
                                             const SamplingOptions& options);

}  // namespace opsmith::synthesis
