#include "search/budget.h"

#include <cmath>
#include <cstdio>

#include "support/error.h"

namespace opsmith::search {

namespace {

/// Beyond this a candidate counts as slower; less is the noise of measuring.
constexpr double kSlower = 1.05;

/// More than any sum of losses: such an option is never taken.
constexpr double kPricedOut = 1e30;

std::string millions(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2fM", value / 1e6);
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * share);
  return text;
}

}  // namespace

Resources absolute_limits(const OptimizeOptions& options, const Resources& original) {
  Resources limits = kUnlimited;
  const auto set = [&](Resource resource, const std::optional<Limit>& limit) {
    if (!limit) return;
    limits[resource] = limit->share ? limit->value * original[resource] : limit->value;
  };
  set(kMacs, options.max_macs);
  set(kParameters, options.max_parameters);
  set(kMilliseconds, options.max_latency);
  return limits;
}

Resources limits_for_layers(const Resources& limits, const Resources& original,
                            const std::vector<LayerStudy>& studies) {
  Resources studied = {};
  for (const LayerStudy& study : studies) {
    studied[kMacs] += static_cast<double>(study.macs);
    studied[kParameters] += static_cast<double>(study.parameters);
    studied[kMilliseconds] += study.milliseconds;
  }
  Resources left;
  for (size_t r = 0; r < kResources; ++r) left[r] = limits[r] - (original[r] - studied[r]);
  return left;
}

bool is_slower(const LayerStudy& study, const CandidateStudy& candidate) {
  return candidate.milliseconds > kSlower * study.milliseconds && study.milliseconds > 0;
}

std::vector<LayerOptions> layer_options(const std::vector<LayerStudy>& studies,
                                        bool refuse_slower) {
  std::vector<LayerOptions> layers;
  for (const LayerStudy& study : studies) {
    LayerOptions options(1);
    options[0].cost = {static_cast<double>(study.macs), static_cast<double>(study.parameters),
                       study.milliseconds};
    for (const CandidateStudy& candidate : study.candidates) {
      Option option;
      option.cost = {static_cast<double>(candidate.macs), static_cast<double>(candidate.parameters),
                     candidate.milliseconds};
      option.family = candidate.family;
      option.loss = candidate.loss * candidate.loss;
      const bool refused = refuse_slower && is_slower(study, candidate);
      if (!candidate.worthwhile || refused || !std::isfinite(option.loss)) {
        option.loss = kPricedOut;
        option.cost = {kPricedOut, kPricedOut, kPricedOut};
      }
      options.push_back(option);
    }
    layers.push_back(std::move(options));
  }
  return layers;
}

void check_reachable(const Resources& limits, const Resources& original,
                     const std::vector<LayerStudy>& studies, bool single_operator) {
  Resources left = limits_for_layers(limits, original, studies);
  left[kMilliseconds] = kUnlimited[kMilliseconds];
  std::vector<LayerStudy> all = studies;
  for (LayerStudy& study : all) {
    for (CandidateStudy& candidate : study.candidates) candidate.worthwhile = true;
  }
  const std::vector<LayerOptions> layers = layer_options(all, false);
  const Resources least = least_cost(layers);
  const auto check = [&](Resource resource, const std::string& what, const std::string& flag) {
    if (least[resource] <= left[resource]) return;
    const double reachable = limits[resource] - left[resource] + least[resource];
    throw UserError("a limit of " + millions(limits[resource]) + " " + what + " (" +
                    percent(limits[resource] / original[resource]) +
                    ") is out of reach: with the cheapest operator in every layer that can be "
                    "replaced the model still has " +
                    millions(reachable) + " (" + percent(reachable / original[resource]) +
                    "); raise " + flag);
  };
  check(kMacs, "multiply-accumulates", "--max-flops");
  check(kParameters, "parameters", "--max-params");
  const auto found = single_operator ? assign_single_family(layers, left) : assign(layers, left);
  if (!found) {
    throw UserError(single_operator
                        ? "no single operator reaches these limits; raise them or let every layer "
                          "have its own"
                        : "these limits cannot be reached together; raise one of them");
  }
}

}  // namespace opsmith::search
