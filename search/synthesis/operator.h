#pragma once

#include <optional>
#include <vector>

#include "search/synthesis/state.h"
#include "substitute/operator/value_graph.h"

namespace opsmith::synthesis {

/// A complete operator, apart from the search that found it.
struct FoundOperator {
  substitute::ValueGraph graph;
  uint64_t hash = 0;   ///< of the formula: see `formula_hash`
  int primitives = 0;  ///< contractions counting as one
};

/// The ways to match the data dimensions to those of the input: for each, the dimension that
/// stands at each place. At most `limits().finalizations`; empty when the extents differ.
std::vector<std::vector<const Dimension*>> matches(const Space& space, const State& state);

/// Identifies the formula: the value of every index of the data and of every weight, whatever the
/// order of weights, of their dimensions and of reductions of one extent. The same on every
/// machine.
uint64_t formula_hash(const State& state, const std::vector<const Dimension*>& match);

/// Elements summed over without any weight reading them (plain pooling), in the largest layer.
double pooled_elements(Space& space, const State& state);

/// The operator of a state with its data dimensions in the order of the input: input "x", output
/// "y", weights "w1", .... Coefficients that have one value in all layers are bound in `sizes`.
FoundOperator finish(Space& space, const State& state, const std::vector<const Dimension*>& match);

/// One line: "y[n, o, h, w] = sum over r1: k, ... of x[...] * w1[...]".
std::string formula(const substitute::ValueGraph& graph);

}  // namespace opsmith::synthesis
