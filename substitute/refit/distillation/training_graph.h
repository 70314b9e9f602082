#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "substitute/refit/distillation/loss.h"

namespace opsmith::substitute {

/// What an output is compared with.
struct OutputLoss {
  LossKind kind = LossKind::RelativeSquares;
  double scale = 1;
  double temperature = 1;
};

/// A model that makes one step of training: it takes the original's inputs, the targets and the
/// parameters, and gives the loss and its gradient by each parameter.
struct TrainingGraph {
  graph::Model model;
  std::vector<std::string> parameters;         ///< inputs, named as in the model to be trained
  std::vector<std::string> gradients;          ///< outputs, one per parameter
  std::map<std::string, std::string> targets;  ///< input that holds the target, by output
  std::string loss;                            ///< output of shape [1]
  int64_t forward_macs = 0;                    ///< of the stages, for the whole batch
  int64_t macs = 0;                            ///< forward and backward
};

/// Names of the constants that training changes: weights and biases of convolutions, products and
/// substituted operators, and what layer normalisations and additions add.
std::vector<std::string> trainable_parameters(const graph::Model& model);

/// `model` with its batch size fixed by `shapes` (by input); only `outputs` are compared. Throws
/// Unsupported naming a node that has no derivative.
TrainingGraph make_training_graph(const graph::Model& model,
                                  const std::map<std::string, Shape>& shapes,
                                  const std::map<std::string, OutputLoss>& outputs);

}  // namespace opsmith::substitute
