#include "search/synthesis/state.h"

#include <algorithm>

#include "search/synthesis/mix.h"
#include "support/error.h"

namespace opsmith::synthesis {

void DimensionSet::insert(const Dimension* dimension) {
  require(!full(), "a partial operator has more dimensions than a set holds");
  int i = size_++;
  for (; i > 0 && items_[static_cast<size_t>(i - 1)]->hash > dimension->hash; --i)
    items_[static_cast<size_t>(i)] = items_[static_cast<size_t>(i - 1)];
  items_[static_cast<size_t>(i)] = dimension;
}

void DimensionSet::erase(int i) {
  --size_;
  for (; i < size_; ++i) items_[static_cast<size_t>(i)] = items_[static_cast<size_t>(i + 1)];
}

int DimensionSet::find(const Dimension* dimension) const {
  for (int i = 0; i < size_; ++i)
    if (items_[static_cast<size_t>(i)] == dimension) return i;
  return -1;
}

bool DimensionSet::operator==(const DimensionSet& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

uint64_t DimensionSet::hash() const {
  uint64_t hash = static_cast<uint64_t>(size_);
  for (const Dimension* dimension : *this) hash += mix(dimension->hash);
  return mix(hash);
}

std::string to_string(Move::Kind kind) {
  static const std::array<std::string, Move::kinds> names = {
      "reduce", "split", "merge", "shift", "expand", "unfold", "stride", "contract"};
  return names[static_cast<size_t>(kind)];
}

uint64_t State::hash() const {
  uint64_t hash = data.hash();
  for (int i = 0; i < weight_count; ++i) hash = mix(hash ^ weights[static_cast<size_t>(i)].hash());
  hash = mix(hash + expanded.hash());
  hash = mix(hash + static_cast<uint64_t>(depth) * 2 + (reducing ? 1 : 0));
  for (const int8_t count : counts) hash = mix(hash + static_cast<uint64_t>(count));
  return hash;
}

Space::Space(const Problem& problem, const Limits& limits)
    : problem_(problem), limits_(limits), sizes_(problem.variables), dimensions_(sizes_) {
  if (limits.tensors > 1 + State::most_weights)
    throw UserError("operators have at most " + std::to_string(State::most_weights) + " weights");
  if (problem.output.size() + static_cast<size_t>(limits.reductions) > 10)
    throw UserError("a search takes at most 10 output dimensions and reductions together");
  if (limits.depth > 100 || limits.expands > DimensionSet::capacity)
    throw UserError("operators have at most 100 primitives and " +
                    std::to_string(DimensionSet::capacity) + " Expands");
  for (const Axis& axis : problem.input) input_.push_back(sizes_.find(axis.size));
  for (const Axis& axis : problem.output) output_.push_back(sizes_.find(axis.size));
  enumerate_extents();
}

/// At most one primary variable, once; powers of coefficients around zero.
void Space::enumerate_extents() {
  const int reach = std::max(1, limits_.powers / 2);
  std::vector<Extent> monomials = {Extent{}};
  std::vector<int> used = {0}, degrees = {0};
  std::vector<bool> has_primary = {false};
  for (size_t v = 0; v < problem_.variables.size(); ++v) {
    const size_t before = monomials.size();
    for (size_t i = 0; i < before; ++i)
      for (int power = -reach; power <= reach; ++power) {
        if (power == 0 || used[i] == limits_.size_variables) continue;
        if (sizes_.is_primary(v) && (power != 1 || has_primary[i])) continue;
        const int degree = degrees[i] + (sizes_.is_primary(v) ? 0 : std::abs(power));
        if (degree > limits_.size_degree) continue;
        Extent extent = monomials[i];
        extent.set_power(v, power);
        monomials.push_back(extent);
        used.push_back(used[i] + 1);
        degrees.push_back(degree);
        has_primary.push_back(has_primary[i] || sizes_.is_primary(v));
      }
  }
  for (const Extent& extent : monomials)
    if (const SizeInfo* info = sizes_.find(extent); info->whole && info->largest > 1)
      extents_.push_back(info);
}

const std::vector<const SizeInfo*>& Space::blocks(const SizeInfo* extent) {
  const auto known = blocks_.find(extent);
  if (known != blocks_.end()) return known->second;
  std::vector<const SizeInfo*>& blocks = blocks_[extent];
  for (const SizeInfo* block : extents_) {
    const SizeInfo* outer = sizes_.quotient(extent, block);
    if (outer->whole && outer->largest > 1) blocks.push_back(block);
  }
  return blocks;
}

State Space::root() {
  State state;
  for (size_t i = 0; i < problem_.output.size(); ++i)
    state.data.insert(dimensions_.iterator(
        static_cast<int>(i), sizes_.find(problem_.output[i].size), problem_.output[i].ordered));
  return state;
}

State Space::apply(const State& state, const Move& move) {
  State next = state;
  ++next.depth;
  ++next.counts[static_cast<size_t>(move.kind)];
  next.reducing = state.reducing && move.kind == Move::Kind::Reduce;
  const auto take = [&](const Dimension* dimension) {
    const int i = next.data.find(dimension);
    require(i >= 0, "a move takes a dimension that is not there");
    next.data.erase(i);
  };
  switch (move.kind) {
    case Move::Kind::Reduce:
      next.data.insert(dimensions_.reduce(state.count(Move::Kind::Reduce), move.size));
      break;
    case Move::Kind::Split:
      take(move.first);
      take(move.second);
      next.data.insert(dimensions_.split(move.first, move.second));
      break;
    case Move::Kind::Merge:
      take(move.first);
      next.data.insert(dimensions_.merge_outer(move.first, move.size));
      next.data.insert(dimensions_.merge_inner(move.first, move.size));
      break;
    case Move::Kind::Shift:
      take(move.first);
      next.data.insert(dimensions_.shift(move.first));
      break;
    case Move::Kind::Expand:
      take(move.first);
      next.expanded.insert(move.first);
      break;
    case Move::Kind::Unfold:
      take(move.first);
      take(move.second);
      next.data.insert(dimensions_.unfold(move.first, move.second));
      break;
    case Move::Kind::Stride:
      take(move.first);
      next.data.insert(dimensions_.stride(move.first, move.size));
      break;
    case Move::Kind::Contract: {
      DimensionSet& weight = next.weights[static_cast<size_t>(next.weight_count)];
      next.data = {};
      for (int i = 0; i < state.data.size(); ++i) {
        const bool shared = (move.shared >> i & 1) != 0, moved = (move.moved >> i & 1) != 0;
        if (shared || moved) weight.insert(state.data[i]);
        if (shared) next.data.insert(dimensions_.share(state.data[i], next.weight_count));
        if (!shared && !moved) next.data.insert(state.data[i]);
      }
      ++next.weight_count;
      break;
    }
  }
  return next;
}

}  // namespace opsmith::synthesis
