#include "search/synthesis/state_graph.h"

namespace opsmith::synthesis {

StateGraph::StateGraph(Enumerator& enumerator)
    : enumerator_(enumerator), root_(intern(enumerator.space().root())) {}

StateNode* StateGraph::intern(const State& state) {
  const uint64_t hash = state.hash();
  StateNode** known = known_.find(hash, [&](StateNode* n) { return n->state == state; });
  if (known != nullptr) return *known;
  nodes_.emplace_back();
  StateNode* node = &nodes_.back();
  node->state = state;
  node->complete = enumerator_.matches_input(state);
  return *known_.insert(hash, node);
}

std::vector<StateNode::Child>& StateGraph::all_children(StateNode* node, Move::Kind kind) {
  auto& list = node->children[static_cast<size_t>(kind)];
  if (!list.has_value()) {
    const std::vector<Move> moves = enumerator_.moves(node->state, kind);
    list.emplace();
    list->reserve(moves.size());
    for (const Move& move : moves) list->push_back({move, nullptr});
  }
  return *list;
}

std::vector<StateNode::Child*> StateGraph::children(StateNode* node, Move::Kind kind) {
  std::vector<StateNode::Child*> alive;
  for (StateNode::Child& child : all_children(node, kind))
    if (child.node == nullptr || !child.node->dead) alive.push_back(&child);
  return alive;
}

StateNode::Child* StateGraph::random_child(StateNode* node, Move::Kind kind, Random& random) {
  std::vector<StateNode::Child>& list = all_children(node, kind);
  while (!list.empty()) {
    const auto choice = random.integer(0, static_cast<int64_t>(list.size()) - 1);
    StateNode::Child& child = list[static_cast<size_t>(choice)];
    if (child.node == nullptr || !child.node->dead) return &child;
    child = list.back();
    list.pop_back();
  }
  return nullptr;
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
    for (const StateNode::Child& child : all_children(node, static_cast<Move::Kind>(kind)))
      if (child.node == nullptr || !child.node->dead) return false;
  return node->dead = true;
}

}  // namespace opsmith::synthesis
