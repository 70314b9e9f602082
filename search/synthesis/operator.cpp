#include "search/synthesis/operator.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "search/synthesis/mix.h"
#include "support/error.h"

namespace opsmith::synthesis {

using substitute::Coordinate;
using substitute::Region;

namespace {

using Kind = Dimension::Kind;

/// Calls visit(d) on the dimensions below `dimension` and itself, those below first, each once.
template <typename Visit>
void walk(const Dimension* dimension, std::set<const Dimension*>& seen, const Visit& visit) {
  if (dimension == nullptr || !seen.insert(dimension).second) return;
  walk(dimension->first, seen, visit);
  walk(dimension->second, seen, visit);
  visit(dimension);
}

/// Reductions of a state by number.
std::vector<const Dimension*> reductions_of(const State& state) {
  std::map<int, const Dimension*> by_number;
  std::set<const Dimension*> seen;
  const auto note = [&](const Dimension* d) {
    if (d->is(Kind::Reduce)) by_number[d->number] = d;
  };
  for (const Dimension* d : state.data) walk(d, seen, note);
  for (const Dimension* d : state.expanded) walk(d, seen, note);
  for (const DimensionSet& weight : state.weights)
    for (const Dimension* d : weight) walk(d, seen, note);
  std::vector<const Dimension*> reductions;
  for (const auto& [number, dimension] : by_number) reductions.push_back(dimension);
  return reductions;
}

/// Hash of a dimension's value, with reductions relabelled and Shares looked through.
uint64_t value_hash(const Dimension* d, const std::vector<int>& labels) {
  d = beneath_shares(d);
  if (d->is(Kind::Reduce))
    return mix(1000 + static_cast<uint64_t>(labels[static_cast<size_t>(d->number)])) ^
           d->extent->hash;
  uint64_t hash = mix(static_cast<uint64_t>(d->kind) * 64 + static_cast<uint64_t>(d->number + 1));
  hash = mix(hash + d->extent->hash);
  if (d->first != nullptr) hash = mix(hash ^ value_hash(d->first, labels));
  if (d->second != nullptr) hash = mix(hash + 3 * value_hash(d->second, labels));
  if (d->block != nullptr) hash = mix(hash ^ d->block->hash);
  return hash;
}

/// Builds a region from dimensions, from the output up.
class RegionBuilder {
 public:
  RegionBuilder(Space& space, const State& state) : space_(space), state_(state) {
    for (const Axis& axis : space.problem().carried)
      carried_.push_back(region_.output(axis.name, axis.size));
    for (const Axis& axis : space.problem().output)
      outputs_.push_back(region_.output(axis.name, axis.size));
    for (const Dimension* d : reductions_of(state))
      coordinates_[d] =
          region_.reduce("r" + std::to_string(d->number + 1), space.sizes().size(d->extent));
  }

  Region build(const std::vector<const Dimension*>& match) {
    std::set<const Dimension*> seen;
    const auto place = [&](const Dimension* d) { make(d); };
    for (const DimensionSet& weight : state_.weights)
      for (const Dimension* d : weight) walk(d, seen, place);
    for (const Dimension* d : state_.expanded) walk(d, seen, place);
    for (const Dimension* d : match) walk(d, seen, place);

    for (const Dimension* d : state_.expanded) region_.expand(coordinates_.at(d));
    std::vector<Coordinate> read = carried_;
    for (const Dimension* d : match) read.push_back(coordinates_.at(d));
    region_.read("x", read);
    for (int i = 0; i < state_.weight_count; ++i) {
      std::vector<Coordinate> dimensions;
      for (const Dimension* d : state_.weights[static_cast<size_t>(i)]) {
        const auto shared = in_weight_.find({d, i});
        dimensions.push_back(shared != in_weight_.end() ? shared->second : coordinates_.at(d));
      }
      std::sort(dimensions.begin(), dimensions.end());
      region_.weight("w" + std::to_string(i + 1), dimensions);
    }
    return std::move(region_);
  }

 private:
  void make(const Dimension* d) {
    if (coordinates_.count(d) != 0) return;
    const auto size = [&](const SizeInfo* info) { return space_.sizes().size(info); };
    const auto source = [&] { return coordinates_.at(d->first); };
    switch (d->kind) {
      case Kind::Iterator:
        coordinates_[d] = outputs_.at(static_cast<size_t>(d->number));
        break;
      case Kind::Reduce:
        throw InternalError("a reduction was not declared");
      case Kind::Split:
        coordinates_[d] = region_.split(source(), coordinates_.at(d->second));
        break;
      case Kind::MergeOuter:
      case Kind::MergeInner: {
        const auto [outer, inner] = region_.merge(source(), size(d->block));
        coordinates_[space_.dimensions().merge_outer(d->first, d->block)] = outer;
        coordinates_[space_.dimensions().merge_inner(d->first, d->block)] = inner;
        break;
      }
      case Kind::Shift:
        coordinates_[d] = region_.shift(source(), {1, ""});
        break;
      case Kind::Unfold:
        coordinates_[d] = region_.unfold(source(), coordinates_.at(d->second));
        break;
      case Kind::Stride:
        coordinates_[d] = region_.stride(source(), size(d->block));
        break;
      case Kind::Share: {
        const auto [data, weight] = region_.share(source());
        coordinates_[d] = data;
        in_weight_[{d->first, d->number}] = weight;
        break;
      }
    }
  }

  Space& space_;
  const State& state_;
  Region region_;
  std::vector<Coordinate> carried_, outputs_;
  std::map<const Dimension*, Coordinate> coordinates_;
  std::map<std::pair<const Dimension*, int>, Coordinate> in_weight_;
};

}  // namespace

std::vector<std::vector<const Dimension*>> matches(const Space& space, const State& state) {
  std::vector<std::vector<const Dimension*>> found;
  if (static_cast<size_t>(state.data.size()) != space.input().size()) return found;
  std::vector<const Dimension*> dimensions(state.data.begin(), state.data.end());
  const auto by_hash = [](const Dimension* a, const Dimension* b) { return a->hash < b->hash; };
  do {
    bool fits = true;
    for (size_t i = 0; i < dimensions.size(); ++i)
      fits = fits && dimensions[i]->extent == space.input()[i] && !dimensions[i]->strided;
    if (fits) found.push_back(dimensions);
  } while (static_cast<int>(found.size()) < space.limits().finalizations &&
           std::next_permutation(dimensions.begin(), dimensions.end(), by_hash));
  return found;
}

uint64_t formula_hash(const State& state, const std::vector<const Dimension*>& match) {
  const std::vector<const Dimension*> reductions = reductions_of(state);
  std::vector<int> labels(reductions.size());
  std::iota(labels.begin(), labels.end(), 0);
  uint64_t least = ~0ull;
  do {
    // Only reductions of one extent change places: they are numbered extent by extent.
    bool alike = true;
    for (size_t i = 0; i < labels.size() && alike; ++i)
      alike = reductions[i]->extent == reductions[static_cast<size_t>(labels[i])]->extent;
    if (!alike) continue;
    uint64_t hash = 0;
    for (const Dimension* d : match) hash = mix(hash ^ value_hash(d, labels));
    uint64_t weights = 0;
    for (int i = 0; i < state.weight_count; ++i) {
      uint64_t weight = 0;
      for (const Dimension* d : state.weights[static_cast<size_t>(i)])
        weight += mix(value_hash(d, labels));
      weights += mix(weight);
    }
    least = std::min(least, mix(hash + weights));
  } while (std::next_permutation(labels.begin(), labels.end()));
  return least;
}

double pooled_elements(Space& space, const State& state) {
  std::set<const Dimension*> weighted;
  for (const DimensionSet& weight : state.weights)
    for (const Dimension* d : weight) walk(d, weighted, [](const Dimension*) {});
  Extent pooled;
  for (const Dimension* d : reductions_of(state))
    if (weighted.count(d) == 0) pooled = pooled * d->extent->extent;
  return space.sizes().find(pooled)->largest;
}

FoundOperator finish(Space& space, const State& state, const std::vector<const Dimension*>& match) {
  FoundOperator found;
  found.hash = formula_hash(state, match);
  found.primitives = state.depth;
  const Problem& problem = space.problem();
  char name[32];
  std::snprintf(name, sizeof(name), "syno-%016llx", static_cast<unsigned long long>(found.hash));
  found.graph.name = name;
  substitute::ValueGraph::Input input{"x", {}};
  for (const auto* axes : {&problem.carried, &problem.input})
    for (const Axis& axis : *axes) input.shape.push_back(axis.size);
  found.graph.inputs = {input};
  found.graph.nodes = {{"y", RegionBuilder(space, state).build(match)}};
  for (const Variable& variable : problem.variables)
    if (substitute::variable_kind(variable.name) == substitute::VariableKind::Coefficient &&
        std::equal(variable.values.begin() + 1, variable.values.end(), variable.values.begin()))
      found.graph.sizes[variable.name] = variable.values[0];
  substitute::validate(found.graph);
  return found;
}

std::string formula(const substitute::ValueGraph& graph) {
  const auto& region = std::get<Region>(graph.nodes.at(0).operation);
  substitute::SizeValues symbols;
  for (const substitute::Size& size : graph.all_sizes())
    for (const auto& [name, power] : size.powers())
      symbols.insert_or_assign(name, expression::Index::symbol(name));
  const expression::Stage stage = substitute::lower(region, graph.output(), symbols);
  std::string text = graph.output() + "[";
  for (const Coordinate c : region.outputs())
    text += (c == region.outputs()[0] ? "" : ", ") + region.name(c);
  text += "] = ";
  bool first = true;
  for (const expression::Axis& axis : stage.reduction_axes) {
    text += (first ? "sum over " : ", ") + axis.name + ": " + to_string(axis.extent);
    first = false;
  }
  return text + (first ? "" : " of ") + to_string(stage.body);
}

}  // namespace opsmith::synthesis
