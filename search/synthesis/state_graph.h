#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "search/synthesis/enumerator.h"
#include "support/random.h"

namespace opsmith::synthesis {

/// A state reached by a search, with what is known of how it goes on.
struct StateNode {
  struct Child {
    Move move;
    StateNode* node = nullptr;  ///< made on first use
  };
  State state;
  std::array<std::optional<std::vector<Child>>, Move::kinds> children;  ///< by kind, when asked for
  bool complete = false;  ///< the data dimensions are the input's: the operator may end here
  bool dead = false;      ///< nothing complete can be reached
};

/// The states that a search has reached. A state reached twice is one node, so that the space is
/// a graph without circles, not a tree; dead ends are remembered.
class StateGraph {
 public:
  explicit StateGraph(Enumerator& enumerator);

  StateNode* root() { return root_; }
  /// Children of one kind that are not known to be dead.
  std::vector<StateNode::Child*> children(StateNode* node, Move::Kind kind);
  /// One of them at random, nullptr when there are none. Forgets dead ones.
  StateNode::Child* random_child(StateNode* node, Move::Kind kind, Random& random);
  StateNode* follow(StateNode* node, StateNode::Child& child);
  /// Marks the node if neither it nor any child can be complete.
  bool check_dead(StateNode* node);

  size_t size() const { return nodes_.size(); }

 private:
  StateNode* intern(const State& state);
  std::vector<StateNode::Child>& all_children(StateNode* node, Move::Kind kind);

  Enumerator& enumerator_;
  std::deque<StateNode> nodes_;
  HashTable<StateNode*> known_;
  StateNode* root_;
};

}  // namespace opsmith::synthesis
