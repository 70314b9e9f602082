#include "search/synthesis/rules/rule.h"

namespace opsmith::synthesis {

namespace {

using Kind = Dimension::Kind;

/// A view that reads nothing of the last contraction could have been made before it.
bool view_before_contraction(const Proposal& p) {
  const int last = p.state.weight_count - 1;
  if (last < 0) return false;
  if (p.move.first->weight >= last) return false;
  return p.move.second == nullptr || p.move.second->weight < last;
}

/// Untouched reductions of one extent are alike: only the first of them is to be used.
bool later_twin(const Proposal& p) {
  if (!p.facts.has_twins) return false;
  const Move& move = p.move;
  const auto earlier = [&](int i) { return p.facts.earlier_twins[static_cast<size_t>(i)]; };
  if (move.kind != Move::Kind::Contract) {
    const int first = move.first == nullptr ? -1 : p.state.data.find(move.first);
    const int second = move.second == nullptr ? -1 : p.state.data.find(move.second);
    if (first >= 0 && earlier(first) != 0) return true;
    return second >= 0 && (earlier(second) & ~(first < 0 ? 0u : 1u << first)) != 0;
  }
  // Among twins: first those that are shared, then those that are moved, then those that stay.
  for (int i = 0; i < p.state.data.size(); ++i) {
    const unsigned before = earlier(i);
    if ((move.shared >> i & 1) != 0 && (before & ~unsigned{move.shared}) != 0) return true;
    if ((move.moved >> i & 1) != 0 && (before & ~unsigned(move.shared | move.moved)) != 0)
      return true;
  }
  return false;
}

/// A Stride skips elements; the window of an Unfold is where that makes sense (dilation).
bool strided_elsewhere(const Proposal& p) {
  const Move& move = p.move;
  if (move.kind == Move::Kind::Contract) return ((move.shared | move.moved) & p.facts.strided) != 0;
  if (move.first != nullptr && move.first->strided) return true;
  return move.kind != Move::Kind::Unfold && move.second != nullptr && move.second->strided;
}

}  // namespace

std::vector<Rule> general_rules() {
  return {
      {"view-before-contraction",
       "a view of dimensions that the last contraction did not touch commutes with it",
       {Move::Kind::Split, Move::Kind::Merge, Move::Kind::Shift, Move::Kind::Expand,
        Move::Kind::Unfold, Move::Kind::Stride},
       Rule::Loss::Nothing,
       view_before_contraction},
      {"interchangeable-reductions",
       "untouched reductions of one extent are alike",
       {Move::Kind::Split, Move::Kind::Merge, Move::Kind::Shift, Move::Kind::Expand,
        Move::Kind::Unfold, Move::Kind::Stride, Move::Kind::Contract},
       Rule::Loss::Nothing,
       later_twin},
      {"stride-outside-window",
       "a strided dimension skips elements unless it is the window of an Unfold",
       {Move::Kind::Split, Move::Kind::Merge, Move::Kind::Shift, Move::Kind::Expand,
        Move::Kind::Unfold, Move::Kind::Stride, Move::Kind::Contract},
       Rule::Loss::Quality,
       strided_elsewhere},
  };
}

}  // namespace opsmith::synthesis
