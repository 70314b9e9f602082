#include <algorithm>

#include "search/synthesis/enumerator.h"
#include "search/synthesis/placement.h"

namespace opsmith::synthesis {

namespace {

using Kind = Move::Kind;

bool room(const State& state, Kind kind, int limit) { return state.count(kind) < limit; }

void reductions(Space& space, const State& state, std::vector<Move>& moves) {
  if (!state.reducing || !room(state, Kind::Reduce, space.limits().reductions)) return;
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
}

bool may_reshape(const Space& space, const Dimension* dimension) {
  return dimension->reshapes < space.limits().reshape_chain;
}

void splits(Space& space, const State& state, std::vector<Move>& moves) {
  if (!room(state, Kind::Split, space.limits().splits)) return;
  for (const Dimension* outer : state.data)
    for (const Dimension* inner : state.data)
      if (outer != inner && may_reshape(space, outer) && may_reshape(space, inner))
        moves.push_back({.kind = Kind::Split, .first = outer, .second = inner});
}

void merges(Space& space, const State& state, std::vector<Move>& moves) {
  if (!room(state, Kind::Merge, space.limits().merges) || state.data.full()) return;
  for (const Dimension* source : state.data) {
    if (!may_reshape(space, source)) continue;
    for (const SizeInfo* block : space.blocks(source->extent))
      moves.push_back({.kind = Kind::Merge, .first = source, .size = block});
  }
}

void unary(const State& state, Kind kind, int limit, std::vector<Move>& moves) {
  if (!room(state, kind, limit)) return;
  for (const Dimension* source : state.data)
    if (kind != Kind::Expand || !source->unfolded) moves.push_back({.kind = kind, .first = source});
}

void unfolds(Space& space, const State& state, std::vector<Move>& moves) {
  if (!room(state, Kind::Unfold, space.limits().unfolds)) return;
  for (const Dimension* window : state.data) {
    if (!is_window(space.limits(), window->extent)) continue;
    for (const Dimension* position : state.data)
      if (position != window &&
          space.sizes().quotient(position->extent, window->extent)->smallest >=
              space.limits().unfold_ratio)
        moves.push_back({.kind = Kind::Unfold, .first = position, .second = window});
  }
}

void strides(Space& space, const State& state, std::vector<Move>& moves) {
  if (!room(state, Kind::Stride, space.limits().strides)) return;
  for (const Dimension* source : state.data)
    for (const SizeInfo* stride : space.extents())
      if (!stride->primary && stride->largest <= space.limits().largest_stride &&
          space.sizes().product(source->extent, stride)->largest <= space.limits().largest_stride)
        moves.push_back({.kind = Kind::Stride, .first = source, .size = stride});
}

void contractions(Space& space, const State& state, uint16_t never_moved,
                  std::vector<Move>& moves) {
  if (state.weight_count + 1 >= space.limits().tensors) return;
  std::vector<int> candidates;
  for (int i = 0; i < state.data.size(); ++i)
    if (!state.data[i]->extent->open) candidates.push_back(i);
  // Each candidate stays, is shared or is moved; the elements of the weight are counted on the way.
  const size_t layers = space.sizes().layers();
  std::vector<double> values(candidates.size() * layers);
  for (size_t i = 0; i < candidates.size(); ++i)
    for (size_t layer = 0; layer < layers; ++layer)
      values[i * layers + layer] = state.data[candidates[i]]->extent->values[layer];
  std::vector<double> elements((candidates.size() + 1) * layers, 1.0);
  Move move{.kind = Kind::Contract};
  const auto choose = [&](const auto& self, size_t i) -> void {
    const auto here = elements.begin() + static_cast<std::ptrdiff_t>(i * layers);
    if (i == candidates.size()) {
      if ((move.shared | move.moved) != 0 &&
          *std::min_element(here, here + static_cast<std::ptrdiff_t>(layers)) >=
              space.limits().least_weight)
        moves.push_back(move);
      return;
    }
    const auto next = here + static_cast<std::ptrdiff_t>(layers);
    std::copy(here, next, next);
    self(self, i + 1);
    for (size_t layer = 0; layer < layers; ++layer)
      next[static_cast<std::ptrdiff_t>(layer)] *= values[i * layers + layer];
    const auto bit = static_cast<uint16_t>(1u << candidates[i]);
    for (uint16_t Move::*into : {&Move::shared, &Move::moved}) {
      if (into == &Move::moved && (bit & never_moved) != 0) continue;
      move.*into = static_cast<uint16_t>(move.*into | bit);
      self(self, i + 1);
      move.*into = static_cast<uint16_t>(move.*into & ~bit);
    }
  };
  choose(choose, 0);
}

}  // namespace

void proposals(Space& space, const State& state, Kind kind, uint16_t never_moved,
               std::vector<Move>& moves) {
  if (state.depth >= space.limits().depth) return;
  switch (kind) {
    case Kind::Reduce:
      return reductions(space, state, moves);
    case Kind::Split:
      return splits(space, state, moves);
    case Kind::Merge:
      return merges(space, state, moves);
    case Kind::Shift:
      return unary(state, kind, space.limits().shifts, moves);
    case Kind::Expand:
      return unary(state, kind, space.limits().expands, moves);
    case Kind::Unfold:
      return unfolds(space, state, moves);
    case Kind::Stride:
      return strides(space, state, moves);
    case Kind::Contract:
      return contractions(space, state, never_moved, moves);
  }
}

}  // namespace opsmith::synthesis
