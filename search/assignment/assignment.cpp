#include "search/assignment/assignment.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace opsmith::search {

namespace {

/// More partial sums than this are thinned out.
constexpr size_t kMostLabels = 4000;
constexpr double kBuckets = 10000;

/// Sums over the first layers of a choice; `option` and `parent` tell how it came about.
struct Label {
  Resources cost = {};
  double loss = 0;
  size_t option = 0;
  size_t parent = 0;
};

bool limited(const Resources& limits, size_t r) { return std::isfinite(limits[r]); }

bool dominates(const Label& a, const Label& b, const Resources& limits) {
  if (a.loss > b.loss) return false;
  for (size_t r = 0; r < kResources; ++r) {
    if (limited(limits, r) && a.cost[r] > b.cost[r]) return false;
  }
  return true;
}

/// Drops what another label dominates, in limited resources and loss.
std::vector<Label> undominated(std::vector<Label> labels, const Resources& limits) {
  std::vector<size_t> active;
  for (size_t r = 0; r < kResources; ++r) {
    if (limited(limits, r)) active.push_back(r);
  }
  std::stable_sort(labels.begin(), labels.end(), [&](const Label& a, const Label& b) {
    for (const size_t r : active) {
      if (a.cost[r] != b.cost[r]) return a.cost[r] < b.cost[r];
    }
    return a.loss < b.loss;
  });
  std::vector<Label> kept;
  for (const Label& label : labels) {
    // With one limit the last one kept is the cheapest loss so far; otherwise look at all.
    const bool beaten = active.size() <= 1
                            ? !kept.empty() && kept.back().loss <= label.loss
                            : std::any_of(kept.begin(), kept.end(), [&](const Label& other) {
                                return dominates(other, label, limits);
                              });
    if (!beaten) kept.push_back(label);
  }
  return kept;
}

/// One label, the best, for each cell of rounded-up costs.
std::vector<Label> thinned(std::vector<Label> labels, const Resources& limits) {
  for (Label& label : labels) {
    for (size_t r = 0; r < kResources; ++r) {
      if (!limited(limits, r) || limits[r] <= 0) continue;
      const double cell = limits[r] / kBuckets;
      label.cost[r] = std::ceil(label.cost[r] / cell - 1e-9) * cell;
    }
  }
  return undominated(std::move(labels), limits);
}

}  // namespace

Resources least_cost(const std::vector<LayerOptions>& layers) {
  Resources sums = {};
  for (const LayerOptions& options : layers) {
    for (size_t r = 0; r < kResources; ++r) {
      double least = options.front().cost[r];
      for (const Option& option : options) least = std::min(least, option.cost[r]);
      sums[r] += least;
    }
  }
  return sums;
}

std::optional<std::vector<size_t>> assign(const std::vector<LayerOptions>& layers,
                                          const Resources& limits) {
  // What the layers after each one need at least.
  std::vector<Resources> rest(layers.size() + 1, Resources{});
  for (size_t i = layers.size(); i-- > 0;) {
    const Resources here = least_cost({layers[i]});
    for (size_t r = 0; r < kResources; ++r) rest[i][r] = rest[i + 1][r] + here[r];
  }
  std::vector<std::vector<Label>> steps = {{Label{}}};
  for (size_t i = 0; i < layers.size(); ++i) {
    std::vector<Label> next;
    for (size_t parent = 0; parent < steps.back().size(); ++parent) {
      for (size_t o = 0; o < layers[i].size(); ++o) {
        Label label = steps.back()[parent];
        label.parent = parent;
        label.option = o;
        label.loss += layers[i][o].loss;
        bool fits = true;
        for (size_t r = 0; r < kResources; ++r) {
          label.cost[r] += layers[i][o].cost[r];
          fits = fits && label.cost[r] + rest[i + 1][r] <= limits[r] * (1 + 1e-12);
        }
        if (fits) next.push_back(label);
      }
    }
    next = undominated(std::move(next), limits);
    if (next.size() > kMostLabels) next = thinned(std::move(next), limits);
    if (next.empty()) return std::nullopt;
    steps.push_back(std::move(next));
  }
  const auto best =
      std::min_element(steps.back().begin(), steps.back().end(),
                       [](const Label& a, const Label& b) { return a.loss < b.loss; });
  std::vector<size_t> choice(layers.size());
  size_t at = static_cast<size_t>(best - steps.back().begin());
  for (size_t i = layers.size(); i-- > 0;) {
    choice[i] = steps[i + 1][at].option;
    at = steps[i + 1][at].parent;
  }
  return choice;
}

std::optional<std::vector<size_t>> assign_single_family(const std::vector<LayerOptions>& layers,
                                                        const Resources& limits) {
  std::set<std::string> families;
  for (const LayerOptions& options : layers) {
    for (const Option& option : options) {
      if (!option.family.empty()) families.insert(option.family);
    }
  }
  std::optional<std::vector<size_t>> best;
  for (const std::string& family : families) {
    std::vector<LayerOptions> restricted(layers.size());
    std::vector<std::vector<size_t>> originals(layers.size());
    for (size_t i = 0; i < layers.size(); ++i) {
      for (size_t o = 0; o < layers[i].size(); ++o) {
        if (layers[i][o].family != family) continue;
        restricted[i].push_back(layers[i][o]);
        originals[i].push_back(o);
      }
      if (restricted[i].empty()) {
        restricted[i].push_back(layers[i].front());
        originals[i].push_back(0);
      }
    }
    const std::optional<std::vector<size_t>> found = assign(restricted, limits);
    if (!found) continue;
    std::vector<size_t> choice(layers.size());
    for (size_t i = 0; i < layers.size(); ++i) choice[i] = originals[i][(*found)[i]];
    if (!best || total_loss(layers, choice) < total_loss(layers, *best)) best = choice;
  }
  return best;
}

double total_loss(const std::vector<LayerOptions>& layers, const std::vector<size_t>& choice) {
  double loss = 0;
  for (size_t i = 0; i < layers.size(); ++i) loss += layers[i].at(choice.at(i)).loss;
  return loss;
}

Resources total_cost(const std::vector<LayerOptions>& layers, const std::vector<size_t>& choice) {
  Resources sums = {};
  for (size_t i = 0; i < layers.size(); ++i) {
    for (size_t r = 0; r < kResources; ++r) sums[r] += layers[i].at(choice.at(i)).cost[r];
  }
  return sums;
}

}  // namespace opsmith::search
