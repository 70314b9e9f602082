#include "search/synthesis/canonical_rate.h"

#include <numeric>

#include "search/synthesis/mix.h"
#include "support/progress.h"
#include "support/timing.h"

namespace opsmith::synthesis {

std::map<int, CanonicalRate> canonical_rates(const Problem& problem, Limits limits,
                                             const SamplingOptions& options) {
  limits.canonical = limits.approximate = false;
  std::optional<Space> space;
  std::optional<Enumerator> enumerator;
  std::optional<StateGraph> graph;
  const auto renew = [&] {
    graph.reset();
    enumerator.reset();
    enumerator.emplace(space.emplace(problem, limits));
    graph.emplace(*enumerator);
  };
  renew();
  Random random(options.seed);
  std::map<int, CanonicalRate> rates;
  std::unordered_set<uint64_t> seen;
  const Stopwatch watch;
  for (int64_t trial = 0;
       trial < options.trials && watch.seconds() < options.seconds && !interrupted(); ++trial) {
    if (graph->size() > most_states) renew();
    StateNode* node = graph->root();
    bool canonical = true;
    uint64_t way = 0;
    std::array<int, Move::kinds> kinds;
    std::iota(kinds.begin(), kinds.end(), 0);
    // Operators of every size count: each state on the way that may end is one.
    for (StateNode::Child* child = nullptr;; node = graph->follow(node, *child)) {
      way = mix(way + node->state.hash());
      if (node->complete && !endings(*space, node->state).empty() && seen.insert(way).second) {
        CanonicalRate& rate = rates[node->state.depth];
        ++rate.operators;
        rate.canonical += canonical ? 1 : 0;
      }
      child = nullptr;
      for (int left = Move::kinds; left > 0 && child == nullptr; --left) {
        std::swap(kinds[static_cast<size_t>(random.integer(0, left - 1))],
                  kinds[static_cast<size_t>(left) - 1]);
        child = graph->random_child(
            node, static_cast<Move::Kind>(kinds[static_cast<size_t>(left) - 1]), random);
      }
      if (child == nullptr) break;
      canonical = canonical && enumerator->broken_rules(node->state, child->move).empty();
    }
    graph->check_dead(node);
  }
  return rates;
}

}  // namespace opsmith::synthesis
