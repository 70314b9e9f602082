#pragma once

#include <vector>

#include "search/assignment/assignment.h"
#include "search/optimize.h"
#include "search/study/layer_study.h"

namespace opsmith::search {

/// Caps on the whole model as absolute numbers; infinite where there is none. A cap on FLOPs is
/// given for multiply-accumulates. Latency is in milliseconds.
Resources absolute_limits(const OptimizeOptions& options, const Resources& original);

/// What is left of the limits for the studied layers when all other nodes stay as they are.
Resources limits_for_layers(const Resources& limits, const Resources& original,
                            const std::vector<LayerStudy>& studies);

/// The options of each study: first the layer as it is, then its candidates in order. Losses are
/// squared relative errors of the outputs, which add up when errors are independent. Candidates
/// that are not worthwhile, and with `refuse_slower` those that were measured slower than the
/// layer, are priced out.
std::vector<LayerOptions> layer_options(const std::vector<LayerStudy>& studies, bool refuse_slower);

/// Whether a candidate was measured slower than the layer it would replace.
bool is_slower(const LayerStudy& study, const CandidateStudy& candidate);

/// Throws UserError naming the least that can be reached when a limit on multiply-accumulates or
/// parameters is out of reach, whatever is fitted.
void check_reachable(const Resources& limits, const Resources& original,
                     const std::vector<LayerStudy>& studies, bool single_operator);

}  // namespace opsmith::search
