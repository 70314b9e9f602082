#pragma once

#include <unordered_map>
#include <vector>

#include "search/synthesis/sampler.h"
#include "search/synthesis/tree_search.h"
#include "search/synthesis/tree_statistics.h"

namespace opsmith::synthesis {

/// How a tree search goes down, and what it learns from rewards. All that a descent depends on is
/// in `nodes`, `moves` and `descents`, by hashes: saved and loaded, it goes on the same.
class TreePolicy {
 public:
  static constexpr int end_choice = Move::kinds;

  /// A choice on the way down: the state, the kind of move or the end, and the move.
  struct Step {
    uint64_t state = 0;
    int choice = end_choice;
    uint64_t move = 0;
  };
  using Path = std::vector<Step>;

  TreePolicy(const Problem& problem, const Limits& limits, const TreeSearchOptions& options);

  /// Goes down once. The state to end in; nullptr at a dead end, which is remembered.
  const StateNode* descend(Path& path);
  /// The state turned out not to satisfy the limits: it is no end.
  void refuse_end(const State& state) { nodes[state.hash()].refused = true; }
  bool exhausted() { return nodes[graph_.root()->state.hash()].dead; }

  void start(const Path& path);
  void finish(const Path& path, double reward, bool was_started);

  Space& space() { return space_; }

  std::unordered_map<uint64_t, NodeStatistics> nodes;    ///< by hash of the state
  std::unordered_map<uint64_t, RewardStatistics> moves;  ///< all moves as first, by hash
  uint64_t descents = 0;

 private:
  struct Instances {
    std::vector<StateNode::Child>* children = nullptr;
    std::vector<uint64_t> hashes;  ///< of the states that they lead to
  };

  Instances& instances(StateNode* node, int kind);
  bool dead(uint64_t state) const;
  bool may_end(const StateNode* node);
  bool alive(StateNode* node, int kind);
  int choose_kind(StateNode* node, Random& random);
  bool reveal(StateNode* node, int kind, Random& random);
  int choose_instance(StateNode* node, int kind, Random& random);
  void bury(const std::vector<StateNode*>& way);

  TreeSearchOptions options_;
  Space space_;
  Enumerator enumerator_;
  StateGraph graph_;
  std::unordered_map<uint64_t, Instances> instances_;  ///< by state and kind
};

}  // namespace opsmith::synthesis
