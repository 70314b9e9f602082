#include "search/synthesis/rules/state_facts.h"

#include <bit>

namespace opsmith::synthesis {

namespace {

bool parts_of_one_merge(const Dimension* a, const Dimension* b) {
  using Kind = Dimension::Kind;
  return a->is(Kind::MergeOuter) && b->is(Kind::MergeInner) && a->first == b->first &&
         a->block == b->block;
}

}  // namespace

StateFacts::StateFacts(const State& state, Move::Kind kind) {
  using Kind = Dimension::Kind;
  const int count = state.data.size(), last = state.weight_count - 1;
  for (int i = 0; i < count; ++i) {
    const Dimension* d = state.data[i];
    const auto bit = static_cast<uint16_t>(1u << i);
    if (d->is(Kind::Reduce)) reduces |= bit;
    if (d->strided) strided |= bit;
    if (last >= 0 && d->weight >= last) after_last |= bit;
  }
  for (unsigned left = reduces; left != 0; left &= left - 1)
    for (unsigned other = reduces; other != 0; other &= other - 1) {
      const int i = std::countr_zero(left), j = std::countr_zero(other);
      if (state.data[i]->extent != state.data[j]->extent ||
          state.data[i]->number >= state.data[j]->number)
        continue;
      uint16_t& twins = earlier_twins[static_cast<size_t>(j)];
      twins = static_cast<uint16_t>(twins | 1u << i);
      has_twins = true;
    }
  if (kind != Move::Kind::Contract) return;
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count && state.data[i]->is(Kind::MergeOuter); ++j)
      if (parts_of_one_merge(state.data[i], state.data[j])) {
        other_part[static_cast<size_t>(i)] = static_cast<uint16_t>(1u << j);
        other_part[static_cast<size_t>(j)] = static_cast<uint16_t>(1u << i);
      }
  for (int w = 0; w <= last; ++w)
    for (const Dimension* d : state.weights[static_cast<size_t>(w)]) {
      if (w == last) last_weight_hash += d->hash;
      for (int i = 0; i < count; ++i)
        if (beneath_shares(state.data[i]) == beneath_shares(d))
          in_weight[static_cast<size_t>(w)] =
              static_cast<uint16_t>(in_weight[static_cast<size_t>(w)] | 1u << i);
    }
}

}  // namespace opsmith::synthesis
