#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "search/synthesis/mix.h"
#include "search/synthesis/operator.h"

namespace opsmith::synthesis::testing {

/// What an operator computes in one layer, told by evaluating it: which products of an input
/// element and weight elements each output element sums, and how often. Equal for two operators
/// that compute the same functions as their weights vary, up to the numbering of the weights'
/// elements and a common factor.
class Meaning {
 public:
  Meaning(Space& space, const State& state, const std::vector<const Dimension*>& match)
      : space_(space), state_(state), match_(match) {
    for (const Axis& axis : space.problem().output)
      output_extents_.push_back(value(space.sizes().find(axis.size)));
    note_reductions();
    evaluate();
    do merge_equal_elements();
    while (drop_weight());
  }

  uint64_t signature() const {
    int64_t common = 0;
    for (const auto& [term, count] : terms_) common = std::gcd(common, count);
    // Colours of weight elements, refined by the terms that they are in.
    std::vector<std::map<int64_t, uint64_t>> colours(weights());
    for (int round = 0; round < 3; ++round) {
      std::vector<std::map<int64_t, uint64_t>> next(weights());
      for (const auto& [term, count] : terms_) {
        const uint64_t hash = hash_of(term, count / common, colours);
        for (size_t w = 0; w < weights(); ++w) next[w][term[2 + w]] += mix(hash);
      }
      colours = next;
    }
    uint64_t total = mix(weights());
    for (const auto& [term, count] : terms_) total += mix(hash_of(term, count / common, colours));
    return total;
  }

  bool empty() const { return terms_.empty(); }

 private:
  /// Output element, input element, an element of each weight.
  using Term = std::vector<int64_t>;

  size_t weights() const { return terms_.empty() ? 0 : terms_.begin()->first.size() - 2; }

  int64_t value(const SizeInfo* info) const {
    return static_cast<int64_t>(space_.sizes().value(info->extent, 0));
  }

  static uint64_t hash_of(const Term& term, int64_t count,
                          const std::vector<std::map<int64_t, uint64_t>>& colours) {
    uint64_t hash = mix(static_cast<uint64_t>(term[0]));
    hash = mix(hash + static_cast<uint64_t>(term[1]));
    hash = mix(hash + static_cast<uint64_t>(count));
    uint64_t elements = 0;  // the order of the weights has no meaning
    for (size_t w = 0; w + 2 < term.size(); ++w) {
      const auto colour = colours[w].find(term[2 + w]);
      elements += mix(colour == colours[w].end() ? 1 : colour->second);
    }
    return mix(hash ^ elements);
  }

  void note_reductions() {
    std::set<const Dimension*> seen;
    std::vector<const Dimension*> open(match_.begin(), match_.end());
    open.insert(open.end(), state_.expanded.begin(), state_.expanded.end());
    for (const DimensionSet& weight : state_.weights)
      open.insert(open.end(), weight.begin(), weight.end());
    while (!open.empty()) {
      const Dimension* d = open.back();
      open.pop_back();
      if (d == nullptr || !seen.insert(d).second) continue;
      open.push_back(d->first);
      open.push_back(d->second);
      if (d->is(Dimension::Kind::Reduce)) reduction_extents_[d->number] = value(d->extent);
    }
  }

  /// The value of a dimension; nothing outside of an unfolded one.
  std::optional<int64_t> at(const Dimension* d) const {
    using Kind = Dimension::Kind;
    if (d->is(Kind::Iterator)) return outputs_[static_cast<size_t>(d->number)];
    if (d->is(Kind::Reduce)) return reductions_.at(d->number);
    const auto first = at(d->first);
    const auto second = d->second == nullptr ? std::optional<int64_t>(0) : at(d->second);
    if (!first || !second) return std::nullopt;
    switch (d->kind) {
      case Kind::Split:
        return *first * value(d->second->extent) + *second;
      case Kind::MergeOuter:
        return *first / value(d->block);
      case Kind::MergeInner:
        return *first % value(d->block);
      case Kind::Shift:
        return (*first + 1) % value(d->extent);
      case Kind::Unfold: {
        const int64_t index = *first + *second - value(d->second->extent) / 2;
        if (index < 0 || index >= value(d->extent)) return std::nullopt;
        return index;
      }
      case Kind::Stride:
        return *first * value(d->block);
      default:
        return first;
    }
  }

  template <typename Dimensions>
  std::optional<int64_t> flat(const Dimensions& dimensions) const {
    int64_t index = 0;
    for (const Dimension* d : dimensions) {
      const auto here = at(d);
      if (!here) return std::nullopt;
      index = index * value(d->extent) + *here;
    }
    return index;
  }

  void evaluate() {
    outputs_.assign(output_extents_.size(), 0);
    for (const auto& [number, extent] : reduction_extents_) reductions_[number] = 0;
    do {
      Term term = {0};
      for (size_t i = 0; i < outputs_.size(); ++i)
        term[0] = term[0] * output_extents_[i] + outputs_[i];
      std::vector<std::optional<int64_t>> reads = {flat(match_)};
      for (int w = 0; w < state_.weight_count; ++w)
        reads.push_back(flat(state_.weights[static_cast<size_t>(w)]));
      if (std::all_of(reads.begin(), reads.end(), [](const auto& r) { return r.has_value(); })) {
        for (const auto& read : reads) term.push_back(*read);
        ++terms_[term];
      }
    } while (advance());
  }

  bool advance() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (++outputs_[i] < output_extents_[i]) return true;
      outputs_[i] = 0;
    }
    for (auto& [number, index] : reductions_) {
      if (++index < reduction_extents_[number]) return true;
      index = 0;
    }
    return false;
  }

  /// Two elements of a weight that always stand for each other are one.
  void merge_equal_elements() {
    for (size_t w = 0; w < weights(); ++w) {
      std::map<int64_t, std::map<Term, int64_t>> uses;
      for (const auto& [term, count] : terms_) {
        Term rest = term;
        rest[2 + w] = 0;
        uses[term[2 + w]][rest] += count;
      }
      std::map<std::map<Term, int64_t>, int64_t> first;
      std::set<int64_t> kept;
      for (const auto& [element, use] : uses)
        if (first.emplace(use, element).second) kept.insert(element);
      std::erase_if(terms_, [&](const auto& entry) { return kept.count(entry.first[2 + w]) == 0; });
    }
  }

  /// Drops a weight of one element (a factor), or one whose element follows from that of another
  /// weight, of which it can be part.
  bool drop_weight() {
    for (size_t b = 0; b < weights(); ++b) {
      std::set<int64_t> elements;
      for (const auto& [term, count] : terms_) elements.insert(term[2 + b]);
      bool drop = elements.size() == 1;
      for (size_t a = 0; a < weights() && !drop; ++a) {
        std::map<int64_t, std::set<int64_t>> partners;
        for (const auto& [term, count] : terms_) partners[term[2 + a]].insert(term[2 + b]);
        drop = a != b && std::all_of(partners.begin(), partners.end(),
                                     [](const auto& p) { return p.second.size() == 1; });
      }
      if (!drop) continue;
      std::map<Term, int64_t> without;
      for (const auto& [term, count] : terms_) {
        Term rest = term;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(2 + b));
        without[rest] += count;
      }
      terms_ = without;
      return true;
    }
    return false;
  }

  Space& space_;
  const State& state_;
  const std::vector<const Dimension*>& match_;
  std::vector<int64_t> output_extents_;
  std::map<int, int64_t> reduction_extents_;
  std::vector<int64_t> outputs_;
  std::map<int, int64_t> reductions_;
  std::map<Term, int64_t> terms_;
};

}  // namespace opsmith::synthesis::testing
