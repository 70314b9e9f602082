#include "search/synthesis/cost.h"

#include <algorithm>
#include <limits>

namespace opsmith::synthesis {

namespace {

using Kind = Dimension::Kind;
using Dimensions = std::vector<const Dimension*>;

unsigned reductions_of(const Dimensions& dimensions) {
  unsigned all = 0;
  for (const Dimension* d : dimensions) all |= d->reductions;
  return all;
}

void add(Dimensions& dimensions, const Dimension* d) {
  d = beneath_shares(d);
  if (std::find(dimensions.begin(), dimensions.end(), d) == dimensions.end())
    dimensions.push_back(d);
}

/// Adds what can be told back from known values: the two parts of a Split, what was shifted, the
/// source of a Merge of which both parts are known.
Dimensions with_sources(Dimensions known) {
  for (size_t i = 0; i < known.size(); ++i) {
    const Dimension* d = known[i];
    if (d->is(Kind::Split)) add(known, d->second);
    if (d->is(Kind::Split) || d->is(Kind::Shift)) add(known, d->first);
    for (size_t j = 0; j <= i && (d->is(Kind::MergeOuter) || d->is(Kind::MergeInner)); ++j)
      if (known[j]->kind != d->kind && known[j]->first == d->first && known[j]->block == d->block)
        add(known, d->first);
  }
  return known;
}

/// Whether the value of `d` follows from the values in `known`.
bool follows(const Dimension* d, const Dimensions& known) {
  d = beneath_shares(d);
  if (std::find(known.begin(), known.end(), d) != known.end()) return true;
  if (d->first == nullptr || !follows(d->first, known)) return false;
  return d->second == nullptr || follows(d->second, known);
}

/// The coordinates over which a stage goes that multiplies tensors with these dimensions and sums
/// over `summed`: dimensions that depend on those are opened up.
Dimensions cut(const Dimensions& dimensions, unsigned summed) {
  Dimensions open = dimensions, closed;
  while (!open.empty()) {
    const Dimension* d = beneath_shares(open.back());
    open.pop_back();
    if ((d->reductions & summed) == 0 || d->is(Kind::Reduce)) {
      add(closed, d);
      continue;
    }
    open.push_back(d->first);
    if (d->second != nullptr) open.push_back(d->second);
  }
  for (size_t i = 0; i < closed.size();) {
    Dimensions others;
    for (const Dimension* d : closed)
      if (d != closed[i]) others.push_back(d);
    if (follows(closed[i], with_sources(others)))
      closed = others;
    else
      ++i;
  }
  return closed;
}

/// The cheapest order of multiplying tensors, in one layer.
class Factoring {
 public:
  Factoring(size_t layer, double output, const SizeInfo* reduction_extents[16])
      : layer_(layer), output_(output), reduction_extents_(reduction_extents) {}

  void go(const std::vector<Dimensions>& tensors, double so_far) {
    if (so_far >= best_) return;
    unsigned all = 0;
    for (const Dimensions& tensor : tensors) all |= reductions_of(tensor);
    double last = output_ * factor(tensors.size());
    for (int r = 0; r < 16; ++r)
      if ((all >> r & 1) != 0) last *= reduction_extents_[r]->values[layer_];
    best_ = std::min(best_, so_far + last);

    for (unsigned subset = 1;
         subset + 1 < 1u << tensors.size() || (subset == 1 && tensors.size() == 1); ++subset) {
      Dimensions together;
      std::vector<Dimensions> rest;
      for (size_t i = 0; i < tensors.size(); ++i) {
        if ((subset >> i & 1) == 0)
          rest.push_back(tensors[i]);
        else
          for (const Dimension* d : tensors[i]) add(together, d);
      }
      const unsigned own = reductions_of(together) & ~reductions_of_all(rest);
      const bool alone = tensors.size() - rest.size() == 1;
      // A tensor alone may be summed over its reductions one after the other.
      for (unsigned summed = own; summed != 0; summed = (summed - 1) & own) {
        stage(together, summed, tensors.size() - rest.size(), rest, so_far);
        if (!alone) break;
      }
      if (own == 0 && !alone) stage(together, 0, tensors.size() - rest.size(), rest, so_far);
    }
  }

  double best() const { return best_; }

 private:
  static double factor(size_t factors) {
    return std::max<double>(static_cast<double>(factors) - 1, 1);
  }

  static unsigned reductions_of_all(const std::vector<Dimensions>& tensors) {
    unsigned all = 0;
    for (const Dimensions& tensor : tensors) all |= reductions_of(tensor);
    return all;
  }

  void stage(const Dimensions& dimensions, unsigned summed, size_t factors,
             std::vector<Dimensions> rest, double so_far) {
    Dimensions axes;
    double domain = factor(factors);
    for (const Dimension* d : cut(dimensions, summed)) {
      domain *= d->extent->values[layer_];
      if (!d->is(Kind::Reduce) || (summed >> d->number & 1) == 0) axes.push_back(d);
    }
    rest.push_back(axes);
    go(rest, so_far + domain);
  }

  size_t layer_;
  double output_;
  const SizeInfo** reduction_extents_;
  double best_ = std::numeric_limits<double>::infinity();
};

void note_reductions(const Dimension* d, const SizeInfo* extents[16]) {
  if (d == nullptr || d->reductions == 0) return;
  if (d->is(Kind::Reduce)) extents[d->number] = d->extent;
  note_reductions(d->first, extents);
  note_reductions(d->second, extents);
}

const SizeInfo* output_extent(Space& space) {
  Extent output;
  for (const SizeInfo* extent : space.output()) output = output * extent->extent;
  return space.sizes().find(output);
}

}  // namespace

double parameters(Space& space, const State& state) {
  double total = 0;
  for (int i = 0; i < state.weight_count; ++i) {
    Extent elements;
    for (const Dimension* d : state.weights[static_cast<size_t>(i)])
      elements = elements * d->extent->extent;
    const SizeInfo* product = space.sizes().find(elements);
    for (size_t layer = 0; layer < space.sizes().layers(); ++layer) total += product->values[layer];
  }
  return total;
}

Cost operator_cost(Space& space, const State& state, const std::vector<const Dimension*>& match) {
  const SizeInfo* reductions[16] = {};
  std::vector<Dimensions> tensors(1);
  for (const Dimension* d : match) add(tensors[0], d);
  for (int i = 0; i < state.weight_count; ++i) {
    tensors.emplace_back();
    for (const Dimension* d : state.weights[static_cast<size_t>(i)]) add(tensors.back(), d);
  }
  for (const Dimensions& tensor : tensors)
    for (const Dimension* d : tensor) note_reductions(d, reductions);
  Cost cost;
  cost.parameters = parameters(space, state);
  const SizeInfo* output = output_extent(space);
  for (size_t layer = 0; layer < space.sizes().layers(); ++layer) {
    Factoring factoring(layer, output->values[layer], reductions);
    factoring.go(tensors, 0);
    cost.macs += factoring.best();
  }
  return cost;
}

double most_macs(Space& space, const State& state) {
  const SizeInfo* reductions[16] = {};
  unsigned read = 0, all = 0;
  for (const Dimension* d : state.data) {
    read |= d->reductions;
    note_reductions(d, reductions);
  }
  all = read;
  for (int i = 0; i < state.weight_count; ++i)
    for (const Dimension* d : state.weights[static_cast<size_t>(i)]) {
      all |= d->reductions;
      note_reductions(d, reductions);
    }
  double total = 0;
  for (size_t layer = 0; layer < space.sizes().layers(); ++layer) {
    double data = 1, weights = 1;
    for (const SizeInfo* extent : space.output()) {
      data *= extent->values[layer];
      if (!extent->open) weights *= extent->values[layer];
    }
    for (int r = 0; r < 16; ++r) {
      if ((all >> r & 1) == 0) continue;
      const double extent = reductions[r]->values[layer];
      weights *= extent;
      if ((read >> r & 1) != 0) data *= extent;
    }
    total += data + weights;
  }
  return total;
}

double least_macs(Space& space, const State& state) {
  const SizeInfo* output = output_extent(space);
  const bool final_weights = state.weight_count > 0 &&
                             state.weight_count + 1 == space.limits().tensors &&
                             space.limits().expands == 0;
  unsigned data = 0;
  const SizeInfo* reductions[16] = {};
  for (const Dimension* d : state.data) {
    data |= d->reductions;
    note_reductions(d, reductions);
  }
  double total = 0;
  for (size_t layer = 0; layer < space.sizes().layers(); ++layer) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < state.weight_count && final_weights; ++i) {
      double domain = 1;
      unsigned shared = 0;
      for (const Dimension* d : state.weights[static_cast<size_t>(i)]) shared |= d->reductions;
      for (int r = 0; r < 16; ++r)
        if ((shared & data) >> r & 1) domain *= reductions[r]->values[layer];
      least = std::min(least, domain);
    }
    total += output->values[layer] * (final_weights ? least : 1);
  }
  return total;
}

}  // namespace opsmith::synthesis
