#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/samples.h"
#include "search/study/augmentation.h"
#include "substitute/refit/distillation/loss.h"
#include "substitute/refit/distillation/optimizer.h"

namespace opsmith::search {

struct DistillationOptions {
  int64_t epochs = 8;  ///< over the calibration inputs
  double rate = 0;     ///< the highest of the cosine schedule; 0: chosen, see `chosen_rate`
  int64_t batch = 64;  ///< samples of one step, unless the model fixes it
  substitute::OptimizerKind optimizer = substitute::OptimizerKind::Adam;
  substitute::LossKind loss = substitute::LossKind::RelativeSquares;
  double temperature = 4;     ///< of the Kullback-Leibler divergence
  double label_weight = 0.3;  ///< share of the labels in the target, where there are any
  Augmentation augmentation;
  int64_t patience = 0;  ///< epochs of the second half without a better one; 0: a third of all
  int threads = 1;
  uint64_t seed = 1;
  bool profile = false;        ///< time every part of a step as well
  double seconds = 0;          ///< the schedule ends by then; 0: no bound
  std::function<bool()> stop;  ///< asked after every step
};

struct DistillationData {
  Tensors inputs;                ///< what is trained on, and
  std::optional<Tensor> labels;  ///< its class numbers, if known
  Tensors held_out;              ///< decides which weights are kept
  Tensors held_out_outputs;      ///< of the original
};

struct DistillationReport {
  std::string loss;              ///< its name
  double rate = 0;               ///< the highest one
  std::vector<double> held_out;  ///< relative L2 before the first and after each epoch
  int64_t best_epoch = 0;        ///< whose weights were kept; 0: those before
  int64_t steps = 0;
  int64_t recoveries = 0;  ///< losses that were not finite
  double seconds = 0;
  double samples_per_second = 0;  ///< of the steps alone
  double gflops = 0;              ///< forward and backward, two operations a multiply-accumulate
  double peak_share = 0;
  std::vector<executor::StepProfile> profile;
};

/// A rate at which training gains: a network that is close already is harmed by a high one, which
/// only a long schedule makes up for. `divergence` is the relative L2 of its outputs.
double chosen_rate(double divergence, int64_t steps);

/// Trains all weights of `student` by gradient descent to give the outputs of `original`. Keeps the
/// weights with the least divergence on the held-out samples. When a loss is not finite the last
/// weights of an epoch are restored and the rate is halved. The same for the same seed and number
/// of threads, unless time ends it.
DistillationReport distill(graph::Model& student, const graph::Model& original,
                           const std::shared_ptr<schedule::KernelProvider>& provider,
                           const DistillationData& data, const DistillationOptions& options);

}  // namespace opsmith::search
