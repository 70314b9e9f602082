#pragma once

#include <string>

#include "search/optimize.h"

namespace opsmith::search {

/// The machine's report: `original` and `optimized` (accuracy where labels were given, macs,
/// parameters, latency_ms by thread count), `layers`, predicted and measured divergence.
std::string json_report(const graph::Model& model, const OptimizeData& data,
                        const OptimizeOptions& options, const OptimizeResult& result);

/// What replays the run: the model's file and every option.
std::string json_configuration(const graph::Model& model, const OptimizeOptions& options);

/// One self-contained page for people: before and after, per-layer bars, what each layer became.
std::string html_report(const graph::Model& model, const OptimizeData& data,
                        const OptimizeOptions& options, const OptimizeResult& result);

/// The command that repeats the run, data files left as placeholders.
std::string command_line(const graph::Model& model, const OptimizeData& data,
                         const OptimizeOptions& options);

}  // namespace opsmith::search
