#pragma once

#include <string>

#include "graph/graph.h"

namespace opsmith::substitute {

/// How far a network's output is from what it should be.
enum class LossKind {
  RelativeSquares,  ///< |z - t|^2 over the mean |t|^2 of a sample; any floating-point output
  Divergence,       ///< Kullback-Leibler divergence of softmax(z / T) from given probabilities, T^2
};
std::string to_string(LossKind kind);

/// Appends to a model of concrete shapes the loss of one output, as a value of shape [1]: the mean
/// over the samples of the first dimension. `target` is a value of the output's shape: the wanted
/// output, or for Divergence the wanted probabilities (over the last dimension; the constant
/// entropy of the target is left out). `scale` multiplies the loss; for RelativeSquares it is one
/// over the mean power of a sample.
graph::ValueId append_loss(graph::Model& model, LossKind kind, graph::ValueId output,
                           graph::ValueId target, double scale, double temperature);

}  // namespace opsmith::substitute
