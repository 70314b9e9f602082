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

bool is_reduce(const Dimension* d) { return d != nullptr && d->is(Kind::Reduce); }

/// Is there an untouched reduction of the same extent with a lower number?
bool has_earlier_twin(const State& state, const Dimension* reduce, const Dimension* except) {
  for (const Dimension* other : state.data)
    if (other->is(Kind::Reduce) && other->extent == reduce->extent && other != except &&
        other->number < reduce->number)
      return true;
  return false;
}

/// Untouched reductions of one extent are alike: only the first of them is to be used.
bool later_twin(const Proposal& p) {
  const Move& move = p.move;
  if (move.kind != Move::Kind::Contract) {
    if (is_reduce(move.first) && has_earlier_twin(p.state, move.first, nullptr)) return true;
    return is_reduce(move.second) && has_earlier_twin(p.state, move.second, move.first);
  }
  // Among twins: first those that stay, then the shared, then the moved ones.
  const auto treatment = [&](int i) {
    return (move.shared >> i & 1) != 0 ? 0 : (move.moved >> i & 1) != 0 ? 1 : 2;
  };
  for (int i = 0; i < p.state.data.size(); ++i)
    for (int j = 0; j < p.state.data.size(); ++j) {
      const Dimension *a = p.state.data[i], *b = p.state.data[j];
      if (is_reduce(a) && is_reduce(b) && a->extent == b->extent && a->number < b->number &&
          treatment(i) > treatment(j))
        return true;
    }
  return false;
}

/// A Stride skips elements; the window of an Unfold is where that makes sense (dilation).
bool strided_elsewhere(const Proposal& p) {
  const Move& move = p.move;
  if (move.kind == Move::Kind::Contract) {
    for (int i = 0; i < p.state.data.size(); ++i)
      if (((move.shared | move.moved) >> i & 1) != 0 && p.state.data[i]->strided) return true;
    return false;
  }
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
