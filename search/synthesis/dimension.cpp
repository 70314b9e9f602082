#include "search/synthesis/dimension.h"

#include <algorithm>

#include "search/synthesis/mix.h"

namespace opsmith::synthesis {

const Dimension* beneath_shares(const Dimension* dimension) {
  while (dimension->is(Dimension::Kind::Share)) dimension = dimension->first;
  return dimension;
}

const Dimension* DimensionStore::intern(Dimension dimension) {
  uint64_t hash =
      mix(static_cast<uint64_t>(dimension.kind) * 64 + static_cast<uint64_t>(dimension.number + 1));
  hash = mix(hash + dimension.extent->hash);
  if (dimension.first != nullptr) hash = mix(hash ^ dimension.first->hash);
  if (dimension.second != nullptr) hash = mix(hash + 3 * dimension.second->hash);
  if (dimension.block != nullptr) hash = mix(hash ^ dimension.block->hash);
  const Dimension** known = known_.find(hash, [&](const Dimension* other) {
    return other->kind == dimension.kind && other->number == dimension.number &&
           other->extent == dimension.extent && other->first == dimension.first &&
           other->second == dimension.second && other->block == dimension.block &&
           other->ordered == dimension.ordered;
  });
  if (known != nullptr) return *known;
  dimension.hash = hash;
  dimension.id = static_cast<int>(dimensions_.size());
  dimensions_.push_back(dimension);
  return *known_.insert(hash, &dimensions_.back());
}

const Dimension* DimensionStore::iterator(int number, const SizeInfo* extent, bool ordered) {
  Dimension dimension;
  dimension.number = static_cast<int8_t>(number);
  dimension.extent = extent;
  dimension.ordered = ordered;
  return intern(dimension);
}

const Dimension* DimensionStore::reduce(int number, const SizeInfo* extent) {
  Dimension dimension;
  dimension.kind = Dimension::Kind::Reduce;
  dimension.number = static_cast<int8_t>(number);
  dimension.extent = extent;
  dimension.reduced = true;
  dimension.reductions = static_cast<uint16_t>(1u << number);
  return intern(dimension);
}

const Dimension* DimensionStore::view(Dimension::Kind kind, const SizeInfo* extent,
                                      const Dimension* first, const Dimension* second,
                                      const SizeInfo* block) {
  Dimension dimension;
  dimension.kind = kind;
  dimension.extent = extent;
  dimension.first = first;
  dimension.second = second;
  dimension.block = block;
  dimension.weight = first->weight;
  dimension.reductions = first->reductions;
  dimension.ordered = first->ordered || kind == Dimension::Kind::Unfold;
  dimension.reduced = first->reduced;
  dimension.unfolded = first->unfolded || kind == Dimension::Kind::Unfold;
  dimension.reshapes = first->reshapes;
  if (second != nullptr) {
    dimension.reductions = static_cast<uint16_t>(dimension.reductions | second->reductions);
    dimension.weight = std::max(dimension.weight, second->weight);
    dimension.ordered = dimension.ordered || second->ordered;
    dimension.reduced = dimension.reduced && second->reduced;
    dimension.unfolded = dimension.unfolded || second->unfolded;
    dimension.reshapes = std::max(dimension.reshapes, second->reshapes);
  }
  switch (kind) {
    case Dimension::Kind::Split:
    case Dimension::Kind::MergeOuter:
    case Dimension::Kind::MergeInner:
      ++dimension.reshapes;
      break;
    default:
      dimension.reshapes = 0;
  }
  dimension.strided = kind == Dimension::Kind::Stride;
  return intern(dimension);
}

const Dimension* DimensionStore::split(const Dimension* outer, const Dimension* inner) {
  return view(Dimension::Kind::Split, sizes_.product(outer->extent, inner->extent), outer, inner,
              nullptr);
}

const Dimension* DimensionStore::merge_outer(const Dimension* source, const SizeInfo* block) {
  return view(Dimension::Kind::MergeOuter, sizes_.quotient(source->extent, block), source, nullptr,
              block);
}

const Dimension* DimensionStore::merge_inner(const Dimension* source, const SizeInfo* block) {
  return view(Dimension::Kind::MergeInner, block, source, nullptr, block);
}

const Dimension* DimensionStore::shift(const Dimension* source) {
  return view(Dimension::Kind::Shift, source->extent, source, nullptr, nullptr);
}

const Dimension* DimensionStore::unfold(const Dimension* position, const Dimension* window) {
  return view(Dimension::Kind::Unfold, position->extent, position, window, nullptr);
}

const Dimension* DimensionStore::stride(const Dimension* source, const SizeInfo* stride) {
  return view(Dimension::Kind::Stride, sizes_.product(source->extent, stride), source, nullptr,
              stride);
}

const Dimension* DimensionStore::share(const Dimension* source, int weight) {
  Dimension dimension = *source;
  dimension.kind = Dimension::Kind::Share;
  dimension.number = dimension.weight = static_cast<int8_t>(weight);
  dimension.first = source;
  dimension.second = nullptr;
  dimension.block = nullptr;
  return intern(dimension);
}

}  // namespace opsmith::synthesis
