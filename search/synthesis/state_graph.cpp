#include "search/synthesis/state_graph.h"

namespace opsmith::synthesis {

StateGraph::StateGraph(Enumerator& enumerator)
    : enumerator_(enumerator), root_(intern(enumerator.space().root())) {}

StateNode* StateGraph::intern(const State& state) {
  const uint64_t hash = state.hash();
  const auto [begin, end] = known_.equal_range(hash);
  for (auto known = begin; known != end; ++known)
    if (known->second->state == state) return known->second;
  nodes_.emplace_back();
  StateNode* node = &nodes_.back();
  node->state = state;
  node->complete = enumerator_.matches_input(state);
  known_.emplace(hash, node);
  return node;
}

std::vector<StateNode::Child*> StateGraph::children(StateNode* node, Move::Kind kind) {
  auto& list = node->children[static_cast<size_t>(kind)];
  if (!list.has_value()) {
    list.emplace();
    for (const Move& move : enumerator_.moves(node->state, kind)) list->push_back({move, nullptr});
  }
  std::vector<StateNode::Child*> alive;
  for (StateNode::Child& child : *list)
    if (child.node == nullptr || !child.node->dead) alive.push_back(&child);
  return alive;
}

StateNode* StateGraph::follow(StateNode* node, StateNode::Child& child) {
  if (child.node == nullptr)
    child.node = intern(enumerator_.space().apply(node->state, child.move));
  return child.node;
}

bool StateGraph::check_dead(StateNode* node) {
  if (node->dead) return true;
  if (node->complete) return false;
  for (int kind = 0; kind < Move::kinds; ++kind)
    if (!children(node, static_cast<Move::Kind>(kind)).empty()) return false;
  return node->dead = true;
}

}  // namespace opsmith::synthesis
