#include "search/tuning/candidate.h"

#include <algorithm>

namespace opsmith::search {
namespace {

using schedule::KernelProblem;
using schedule::Target;
using schedule::Variant;

/// Puts loop `position + 1` of the last reorder before loop `position`.
void exchange(schedule::Schedule& schedule, int64_t position) {
  for (auto directive = schedule.directives.rbegin(); directive != schedule.directives.rend();
       ++directive) {
    if (directive->kind != "reorder") continue;
    const auto i = static_cast<size_t>(position);
    if (i + 1 < directive->axes.size()) std::swap(directive->axes[i], directive->axes[i + 1]);
    return;
  }
}

int64_t one_of(Random& random, const std::vector<int64_t>& values) {
  return values[static_cast<size_t>(random.integer(0, static_cast<int64_t>(values.size()) - 1))];
}

/// The largest register tiles: columns * vectors accumulators, the vectors and a scalar.
int64_t most_columns(const Target& target, int64_t vectors) {
  return std::max<int64_t>((target.vector_registers - 1 - vectors) / vectors, 1);
}

void change_direct(TuningPoint& point, const Target& target, Random& random) {
  schedule::RuleKnobs& knobs = point.knobs;
  switch (random.integer(0, 4)) {
    case 0:
      knobs.body = one_of(random, {0, 112, 224, 336, 672, 896});
      return;
    case 1:
      knobs.reduction_block = one_of(random, {0, 8, 32, 64});
      return;
    case 2:
      if (!point.exchanges.empty() && random.integer(0, 1) == 0) {
        point.exchanges.pop_back();
      } else {
        point.exchanges.push_back(random.integer(0, 5));
      }
      return;
    default:
      knobs.vectors = random.integer(1, 6);
      knobs.columns = random.integer(1, most_columns(target, knobs.vectors));
  }
}

void change_winograd(TuningPoint& point, const schedule::WinogradShape& shape, const Target& target,
                     Random& random) {
  schedule::WinogradTiling& tiling = point.winograd;
  switch (random.integer(0, 5)) {
    case 0:
      tiling.whole_input = !tiling.whole_input;
      return;
    case 1:
      tiling.whole_product = !tiling.whole_product;
      return;
    case 2:
    case 3:
      tiling.rows = random.integer(1, std::min<int64_t>(shape.down, 16));
      return;
    default:
      tiling.vectors = random.integer(1, 6);
      tiling.columns = random.integer(std::min<int64_t>(3, most_columns(target, tiling.vectors)),
                                      most_columns(target, tiling.vectors));
  }
}

}  // namespace

std::optional<schedule::KernelChoice> choice_at(const TuningPoint& point,
                                                const KernelProblem& problem,
                                                const Target& target) {
  std::optional<Variant> variant = schedule::make_variant(problem.program, point.variant);
  if (!variant) return std::nullopt;
  schedule::KernelChoice choice;
  if (variant->prepared.empty()) {
    auto weights = preferred_weight_layouts(variant->program, problem.layouts, target, point.knobs);
    auto layouts = problem.layouts;
    for (const auto& [weight, layout] : weights) {
      if (problem.layouts.contains(weight)) continue;
      layouts[weight] = layout;
      choice.schedule.weights[weight] = layout;
    }
    choice.schedule.schedule = default_schedule(variant->program, layouts, target, point.knobs);
  } else {
    choice.schedule = winograd_schedule(*variant, point.winograd, target);
  }
  for (const int64_t position : point.exchanges) exchange(choice.schedule.schedule, position);
  choice.variant = std::move(*variant);
  return choice;
}

std::vector<TuningPoint> starting_points(const KernelProblem& problem, const Target& target,
                                         const schedule::ChoiceRules& rules) {
  std::vector<TuningPoint> points;
  for (const std::string& name : schedule::variant_names(problem.program)) {
    const auto variant = schedule::make_variant(problem.program, name);
    if (!variant || !schedule::allows(rules, *variant, problem.layouts)) continue;
    TuningPoint point;
    point.variant = name;
    if (!variant->prepared.empty()) {
      point.winograd = default_winograd_tiling(schedule::winograd_shape(*variant), target);
    }
    points.push_back(point);
  }
  return points;
}

TuningPoint neighbour(const TuningPoint& point, const KernelProblem& problem, const Target& target,
                      Random& random) {
  TuningPoint changed = point;
  const auto variant = schedule::make_variant(problem.program, point.variant);
  if (variant->prepared.empty()) {
    change_direct(changed, target, random);
  } else {
    change_winograd(changed, schedule::winograd_shape(*variant), target, random);
  }
  return changed;
}

}  // namespace opsmith::search
