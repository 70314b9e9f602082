#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/tensor.h"

namespace opsmith::substitute {

enum class OptimizerKind {
  Adam,  ///< Kingma and Ba 2015, moments 0.9 and 0.999
  Sgd,   ///< with Nesterov momentum 0.9
};
OptimizerKind parse_optimizer(const std::string& name);  ///< "adam" or "sgd"; throws UserError

/// Changes parameters along their gradients. Keeps what it remembers of past gradients.
class Optimizer {
 public:
  Optimizer(OptimizerKind kind, const std::vector<Tensor>& parameters);

  /// One step at this rate, in place, on up to `threads` threads.
  void step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients, double rate,
            int threads);
  /// Forgets past gradients.
  void reset();

 private:
  OptimizerKind kind_;
  int64_t steps_ = 0;
  std::vector<std::vector<float>> first_, second_;
};

/// The share of the highest rate at a share of the whole training: rises over the first twentieth,
/// then falls along a cosine to zero.
double cosine_schedule(double progress);

}  // namespace opsmith::substitute
