#include <cmath>

#include "search/synthesis/enumerator.h"

namespace opsmith::synthesis {

namespace {

using Kind = Move::Kind;

bool room(const State& state, Kind kind, int limit) { return state.count(kind) < limit; }

std::vector<Move> reductions(Space& space, const State& state) {
  std::vector<Move> moves;
  if (!state.reducing || !room(state, Kind::Reduce, space.limits().reductions)) return moves;
  // Reductions come in the order of their extents: they commute.
  const SizeInfo* last = nullptr;
  const SizeInfo* reduced = space.sizes().one();
  for (const Dimension* dimension : state.data) {
    if (!dimension->is(Dimension::Kind::Reduce)) continue;
    reduced = space.sizes().product(reduced, dimension->extent);
    if (dimension->number == state.count(Kind::Reduce) - 1) last = dimension->extent;
  }
  const SizeInfo* input = space.sizes().one();
  for (const SizeInfo* extent : space.input()) input = space.sizes().product(input, extent);
  bool from_here = last == nullptr;
  for (const SizeInfo* extent : space.extents()) {
    from_here = from_here || extent == last;
    if (!from_here) continue;
    const SizeInfo* all = space.sizes().product(reduced, extent);
    if (space.sizes().quotient(all, input)->largest > space.limits().reduction_multiplier) continue;
    moves.push_back({.kind = Kind::Reduce, .size = extent});
  }
  return moves;
}

bool may_reshape(const Space& space, const Dimension* dimension) {
  return dimension->reshapes < space.limits().reshape_chain;
}

std::vector<Move> splits(Space& space, const State& state) {
  std::vector<Move> moves;
  if (!room(state, Kind::Split, space.limits().splits)) return moves;
  for (const Dimension* outer : state.data)
    for (const Dimension* inner : state.data)
      if (outer != inner && may_reshape(space, outer) && may_reshape(space, inner))
        moves.push_back({.kind = Kind::Split, .first = outer, .second = inner});
  return moves;
}

std::vector<Move> merges(Space& space, const State& state) {
  std::vector<Move> moves;
  if (!room(state, Kind::Merge, space.limits().merges) || state.data.full()) return moves;
  for (const Dimension* source : state.data) {
    if (!may_reshape(space, source)) continue;
    for (const SizeInfo* block : space.blocks(source->extent))
      moves.push_back({.kind = Kind::Merge, .first = source, .size = block});
  }
  return moves;
}

std::vector<Move> unary(const State& state, Kind kind, int limit) {
  std::vector<Move> moves;
  if (!room(state, kind, limit)) return moves;
  for (const Dimension* source : state.data)
    if (kind != Kind::Expand || !source->unfolded) moves.push_back({.kind = kind, .first = source});
  return moves;
}

bool is_window(Space& space, const SizeInfo* extent) {
  const Limits& limits = space.limits();
  if (extent->primary || extent->largest > limits.largest_window) return false;
  if (!limits.odd_windows) return true;
  for (size_t layer = 0; layer < space.sizes().layers(); ++layer)
    if (std::fmod(space.sizes().value(extent->extent, layer), 2) != 1) return false;
  return true;
}

std::vector<Move> unfolds(Space& space, const State& state) {
  std::vector<Move> moves;
  if (!room(state, Kind::Unfold, space.limits().unfolds)) return moves;
  for (const Dimension* window : state.data) {
    if (!is_window(space, window->extent)) continue;
    for (const Dimension* position : state.data)
      if (position != window &&
          space.sizes().quotient(position->extent, window->extent)->smallest >=
              space.limits().unfold_ratio)
        moves.push_back({.kind = Kind::Unfold, .first = position, .second = window});
  }
  return moves;
}

std::vector<Move> strides(Space& space, const State& state) {
  std::vector<Move> moves;
  if (!room(state, Kind::Stride, space.limits().strides)) return moves;
  for (const Dimension* source : state.data)
    for (const SizeInfo* stride : space.extents())
      if (!stride->primary && stride->largest <= space.limits().largest_stride &&
          space.sizes().product(source->extent, stride)->largest <= space.limits().largest_stride)
        moves.push_back({.kind = Kind::Stride, .first = source, .size = stride});
  return moves;
}

std::vector<Move> contractions(Space& space, const State& state) {
  std::vector<Move> moves;
  if (state.weight_count + 1 >= space.limits().tensors) return moves;
  std::vector<int> candidates;
  for (int i = 0; i < state.data.size(); ++i)
    if (!state.data[i]->extent->open) candidates.push_back(i);
  // Counts in base three: each candidate stays, is shared or is moved.
  std::vector<int> digits(candidates.size(), 0);
  while (true) {
    size_t at = 0;
    while (at < digits.size() && ++digits[at] == 3) digits[at++] = 0;
    if (at == digits.size()) break;
    Move move{.kind = Kind::Contract};
    Extent elements;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (digits[i] == 0) continue;
      elements = elements * state.data[candidates[i]]->extent->extent;
      const auto bit = static_cast<uint16_t>(1u << candidates[i]);
      (digits[i] == 1 ? move.shared : move.moved) |= bit;
    }
    if (space.sizes().find(elements)->smallest >= space.limits().least_weight)
      moves.push_back(move);
  }
  return moves;
}

}  // namespace

std::vector<Move> proposals(Space& space, const State& state, Kind kind) {
  if (state.depth >= space.limits().depth) return {};
  switch (kind) {
    case Kind::Reduce:
      return reductions(space, state);
    case Kind::Split:
      return splits(space, state);
    case Kind::Merge:
      return merges(space, state);
    case Kind::Shift:
      return unary(state, kind, space.limits().shifts);
    case Kind::Expand:
      return unary(state, kind, space.limits().expands);
    case Kind::Unfold:
      return unfolds(space, state);
    case Kind::Stride:
      return strides(space, state);
    case Kind::Contract:
      return contractions(space, state);
  }
  return {};
}

}  // namespace opsmith::synthesis
