#include "search/synthesis/tree_policy.h"

#include <algorithm>
#include <cmath>

namespace opsmith::synthesis {

namespace {

/// A move, wherever it is made.
uint64_t move_hash(const State& state, const Move& move) {
  uint64_t hash = mix(static_cast<uint64_t>(move.kind));
  if (move.first != nullptr) hash = mix(hash + move.first->hash);
  if (move.second != nullptr) hash = mix(hash ^ move.second->hash);
  if (move.size != nullptr) hash = mix(hash + move.size->hash);
  uint64_t shared = 0, moved = 0;
  for (int i = 0; i < state.data.size(); ++i) {
    if ((move.shared >> i & 1) != 0) shared += mix(state.data[i]->hash);
    if ((move.moved >> i & 1) != 0) moved += mix(state.data[i]->hash);
  }
  return mix(hash + mix(shared) + 3 * mix(moved));
}

}  // namespace

TreePolicy::TreePolicy(const Problem& problem, const Limits& limits,
                       const TreeSearchOptions& options)
    : options_(options), space_(problem, limits), enumerator_(space_), graph_(enumerator_) {}

TreePolicy::Instances& TreePolicy::instances(StateNode* node, int kind) {
  Instances& known = instances_[mix(node->state.hash() + static_cast<uint64_t>(kind))];
  if (known.children == nullptr) {
    graph_.children(node, static_cast<Move::Kind>(kind));
    known.children = &*node->children[static_cast<size_t>(kind)];
    for (const StateNode::Child& child : *known.children)
      known.hashes.push_back(space_.apply(node->state, child.move).hash());
  }
  return known;
}

bool TreePolicy::dead(uint64_t state) const {
  const auto known = nodes.find(state);
  return known != nodes.end() && known->second.dead;
}

bool TreePolicy::may_end(const StateNode* node) {
  return node->complete && !nodes[node->state.hash()].refused;
}

bool TreePolicy::alive(StateNode* node, int kind) {
  const std::vector<uint64_t>& hashes = instances(node, kind).hashes;
  return std::any_of(hashes.begin(), hashes.end(), [&](uint64_t hash) { return !dead(hash); });
}

/// The kind with the highest bound, chance deciding among equals; -1 at a dead end.
int TreePolicy::choose_kind(StateNode* node, Random& random) {
  const NodeStatistics here = nodes[node->state.hash()];
  int best = -1, ties = 0;
  double highest = 0;
  for (int kind = 0; kind <= end_choice; ++kind) {
    if (kind == end_choice ? !may_end(node) : !alive(node, kind)) continue;
    const RewardStatistics& choice =
        kind == end_choice ? here.end : here.kinds[static_cast<size_t>(kind)];
    const double value =
        choice.upper_bound(here.all.visits, options_.exploration, options_.virtual_loss);
    ties = best >= 0 && value == highest ? ties + 1 : 1;
    if (best < 0 || value > highest || (value == highest && random.integer(1, ties) == 1)) {
      best = kind;
      highest = value;
    }
  }
  return best;
}

/// Reveals one more instance of a kind; false when all that live are revealed.
bool TreePolicy::reveal(StateNode* node, int kind, Random& random) {
  std::vector<int>& revealed = nodes[node->state.hash()].revealed[static_cast<size_t>(kind)];
  const Instances& list = instances(node, kind);
  int best = -1;
  double highest = 0;
  for (int i = 0; i < static_cast<int>(list.hashes.size()); ++i) {
    const uint64_t hash = list.hashes[static_cast<size_t>(i)];
    if (dead(hash) || std::find(revealed.begin(), revealed.end(), i) != revealed.end()) continue;
    const auto global =
        moves.find(move_hash(node->state, (*list.children)[static_cast<size_t>(i)].move));
    const double anywhere = global == moves.end() ? 0 : global->second.mean;
    const auto known = nodes.find(hash);
    const RewardStatistics own = known == nodes.end() ? RewardStatistics{} : known->second.all;
    const double beta = options_.trust / (options_.trust + static_cast<double>(own.visits));
    const double value = options_.guided * ((1 - beta) * own.mean + beta * anywhere) +
                         (1 - options_.guided) * random.uniform();
    if (best < 0 || value > highest) {
      best = i;
      highest = value;
    }
  }
  if (best >= 0) revealed.push_back(best);
  return best >= 0;
}

/// The revealed instance with the highest bound, after as much widening as visits allow; -1 when
/// none lives.
int TreePolicy::choose_instance(StateNode* node, int kind, Random& random) {
  const uint64_t state = node->state.hash();
  const Instances& list = instances(node, kind);
  // What is under way counts: several workers would all meet the one child otherwise.
  const RewardStatistics& so_far = nodes[state].kinds[static_cast<size_t>(kind)];
  const int64_t visits = so_far.visits + so_far.pending;
  const auto allowed = static_cast<size_t>(
      std::max(1.0, std::floor(std::pow(static_cast<double>(visits), options_.widening))));
  while (true) {
    int best = -1;
    size_t living = 0;
    double highest = 0;
    for (const int i : nodes[state].revealed[static_cast<size_t>(kind)]) {
      const uint64_t hash = list.hashes[static_cast<size_t>(i)];
      if (dead(hash)) continue;
      ++living;
      const double value =
          nodes[hash].all.upper_bound(visits, options_.exploration, options_.virtual_loss);
      if (best < 0 || value > highest) {
        best = i;
        highest = value;
      }
    }
    if (living >= allowed || !reveal(node, kind, random)) return best;
  }
}

void TreePolicy::bury(const std::vector<StateNode*>& way) {
  for (auto node = way.rbegin(); node != way.rend(); ++node) {
    bool hope = may_end(*node);
    for (int kind = 0; kind < Move::kinds && !hope; ++kind) hope = alive(*node, kind);
    if (hope) return;
    nodes[(*node)->state.hash()].dead = true;
  }
}

const StateNode* TreePolicy::descend(Path& path) {
  Random random(mix(options_.seed) + mix(++descents));
  StateNode* node = graph_.root();
  std::vector<StateNode*> way = {node};
  while (true) {
    const int kind = choose_kind(node, random);
    if (kind == end_choice) {
      path.push_back({node->state.hash(), end_choice, 0});
      return node;
    }
    const int instance = kind < 0 ? -1 : choose_instance(node, kind, random);
    if (instance < 0) break;
    StateNode::Child& child = (*instances(node, kind).children)[static_cast<size_t>(instance)];
    path.push_back({node->state.hash(), kind, move_hash(node->state, child.move)});
    node = graph_.follow(node, child);
    way.push_back(node);
  }
  bury(way);
  return nullptr;
}

void TreePolicy::start(const Path& path) {
  for (const Step& step : path) {
    NodeStatistics& here = nodes[step.state];
    ++here.all.pending;
    ++here.choice(step.choice).pending;
  }
}

void TreePolicy::finish(const Path& path, double reward, bool was_started) {
  for (const Step& step : path) {
    NodeStatistics& here = nodes[step.state];
    for (RewardStatistics* statistics : {&here.all, &here.choice(step.choice)}) {
      statistics->add(reward);
      if (was_started) --statistics->pending;
    }
    if (step.choice != end_choice) moves[step.move].add(reward);
  }
}

}  // namespace opsmith::synthesis
