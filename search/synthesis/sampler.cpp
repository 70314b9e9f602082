#include "search/synthesis/sampler.h"

#include <atomic>
#include <memory>
#include <mutex>

#include "support/parallel.h"
#include "support/progress.h"
#include "support/timing.h"

namespace opsmith::synthesis {

namespace {

/// The formulas seen by all threads.
class Distinct {
 public:
  bool insert(uint64_t hash) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return seen_.insert(hash).second;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<uint64_t> seen_;
};

class Descent {
 public:
  Descent(const Problem& problem, const Limits& limits, uint64_t seed, Distinct& distinct)
      : problem_(problem), limits_(limits), random_(seed), distinct_(distinct) {
    renew();
  }

  void trial() {
    if (graph_->size() > most_states) renew();
    ++result.trials;
    std::vector<StateNode*> path = {graph_->root()};
    while (true) {
      StateNode* node = path.back();
      StateNode* next = step(node);
      if (next == node) return end(node);
      if (next == nullptr) break;
      path.push_back(next);
    }
    ++result.dead_ends;
    for (auto node = path.rbegin(); node != path.rend(); ++node)
      if (!graph_->check_dead(*node)) break;
  }

  void finish() {
    result.states += static_cast<int64_t>(graph_->size());
    result.counters += enumerator_->counters();
  }

  SamplingResult result;

 private:
  void renew() {
    if (enumerator_ != nullptr) finish();
    space_ = std::make_unique<Space>(problem_, limits_);
    enumerator_ = std::make_unique<Enumerator>(*space_);
    graph_ = std::make_unique<StateGraph>(*enumerator_);
  }

  /// The next node; the node itself to end there; nullptr at a dead end.
  StateNode* step(StateNode* node) {
    // Kinds in random order, the first that offers anything being taken; ending is one of them.
    std::array<int, Move::kinds + 1> kinds;
    for (int i = 0; i <= Move::kinds; ++i) kinds[static_cast<size_t>(i)] = i;
    for (int left = Move::kinds + 1; left > 0; --left) {
      std::swap(kinds[static_cast<size_t>(random_.integer(0, left - 1))],
                kinds[static_cast<size_t>(left - 1)]);
      const int kind = kinds[static_cast<size_t>(left - 1)];
      if (kind == Move::kinds) {
        if (node->complete) return node;
        continue;
      }
      StateNode::Child* child = graph_->random_child(node, static_cast<Move::Kind>(kind), random_);
      if (child != nullptr) return graph_->follow(node, *child);
    }
    return nullptr;
  }

  void end(StateNode* node) {
    const auto found = endings(*space_, node->state);
    if (found.empty()) ++result.over_limits;
    bool fresh = false;
    for (const auto& [match, cost] : found)
      if (distinct_.insert(formula_hash(node->state, match))) {
        result.samples.push_back({synthesis::finish(*space_, node->state, match), cost});
        fresh = true;
      }
    if (!found.empty() && !fresh) ++result.repeated;
  }

  const Problem& problem_;
  const Limits& limits_;
  Random random_;
  Distinct& distinct_;
  std::unique_ptr<Space> space_;
  std::unique_ptr<Enumerator> enumerator_;
  std::unique_ptr<StateGraph> graph_;
};

}  // namespace

std::vector<std::pair<std::vector<const Dimension*>, Cost>> endings(Space& space,
                                                                    const State& state) {
  std::vector<std::pair<std::vector<const Dimension*>, Cost>> found;
  if (pooled_elements(space, state) > space.limits().pooling) return found;
  for (const auto& match : matches(space, state)) {
    const Cost cost = operator_cost(space, state, match);
    const double share = cost.macs / space.problem().original_macs;
    if (share >= space.limits().least_macs && share <= space.limits().most_macs)
      found.emplace_back(match, cost);
  }
  return found;
}

SamplingResult sample(const Problem& problem, const Limits& limits,
                      const SamplingOptions& options) {
  Distinct distinct;
  SamplingResult total;
  std::mutex mutex;
  const Stopwatch watch;
  std::atomic<int64_t> trials{0}, operators{0};
  parallel_for(options.threads, options.threads, [&](int64_t thread) {
    Descent descent(problem, limits, options.seed * 1000003 + static_cast<uint64_t>(thread),
                    distinct);
    while (!interrupted() && operators < options.operators && trials++ < options.trials &&
           watch.seconds() < options.seconds) {
      const size_t before = descent.result.samples.size();
      descent.trial();
      operators += static_cast<int64_t>(descent.result.samples.size() - before);
    }
    descent.finish();
    const std::lock_guard<std::mutex> lock(mutex);
    SamplingResult& part = descent.result;
    for (Sample& sample : part.samples) total.samples.push_back(std::move(sample));
    total.trials += part.trials;
    total.dead_ends += part.dead_ends;
    total.over_limits += part.over_limits;
    total.repeated += part.repeated;
    total.states += part.states;
    total.counters += part.counters;
  });
  total.seconds = watch.seconds();
  return total;
}

}  // namespace opsmith::synthesis
