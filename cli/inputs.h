#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/tensor.h"

namespace opsmith::cli {

using Tensors = std::map<std::string, Tensor>;

/// Loads "[NAME=]FILE[[BEGIN:END]]" sources and fits them to the model's inputs: every name must
/// be one, every input must be there, ranks and fixed dimensions must match (`any_batch`: but for
/// the first, which counts samples). Elements of another width of the same kind (float64 for
/// float32) are converted. Throws UserError naming input, file and remedy.
Tensors load_inputs(const graph::Model& model, const std::vector<std::string>& sources,
                    bool any_batch = false);

/// Seeded inputs for a model whose input shapes are known but for the first dimension (then 1).
/// Floats are normal, integers small enough for any vocabulary. Throws UserError naming the input
/// whose shape must be given with --shape.
Tensors random_inputs(const graph::Model& model, uint64_t seed);

}  // namespace opsmith::cli
