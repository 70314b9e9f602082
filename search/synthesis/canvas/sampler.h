#pragma once

#include <array>
#include <string>
#include <vector>

#include "search/synthesis/canvas/budget.h"
#include "support/random.h"

namespace opsmith::synthesis::canvas {

/// A distinct kernel that satisfies every limit in every layer.
struct Sample {
  Kernel kernel;
  int64_t groups = 0;
  Solution solution;
  uint64_t hash = 0;
};

struct SamplingOptions {
  double seconds = 10;
  int64_t kernels = INT64_MAX;  ///< whichever of the two ends first
  int threads = 1;
  uint64_t seed = 1;
  int64_t most_kept = INT64_MAX;  ///< samples that are kept; the others are only counted
};

/// How often each type of primitive was taken, and how often it would be if each step chose evenly
/// among the types that had a legal instance.
struct TypeCounts {
  std::array<int64_t, primitive_types> taken{};
  std::array<double, primitive_types> expected{};
};

struct SamplingResult {
  std::vector<Sample> samples;
  int64_t distinct = 0;
  int64_t trials = 0;     ///< kernels begun
  int64_t dead_ends = 0;  ///< no legal step was left
  int64_t unsolved = 0;   ///< complete, but outside the limits whatever the free widths
  int64_t repeated = 0;
  double seconds = 0;
  TypeCounts types;  ///< over all steps of the first trials of each thread
  std::array<int64_t, primitive_types> in_kernels{};  ///< over the distinct kernels
  std::vector<int64_t> pruned;                        ///< by rule of `pruning_rules()`
  std::vector<int64_t> designs;                       ///< distinct kernels by `known_designs()`

  double distinct_per_second() const { return static_cast<double>(distinct) / seconds; }
};

/// Grows one kernel at random, each step of a type chosen evenly among those that have a legal
/// instance (Canvas, section 6.1), then an even choice of the instance.
class Grower {
 public:
  Grower(Targets& targets, const KernelLimits& limits, Random& random);

  /// False at a dead end.
  bool grow(Kernel& kernel);
  /// Also counts what types would have been legal, which takes longer.
  void count_types(TypeCounts* counts) { counts_ = counts; }
  const std::vector<int64_t>& pruned() const { return pruned_; }

 private:
  bool take(Kernel& kernel, Primitive primitive, int remaining);
  bool find(const Kernel& kernel, Primitive primitive, int remaining, Step& found);
  bool complete_step(const Kernel& kernel, Step& step, int remaining);

  Targets& targets_;
  const KernelLimits& limits_;
  Random& random_;
  TypeCounts* counts_ = nullptr;
  std::vector<int64_t> pruned_;
};

/// Samples kernels for all layers at once, with a number of groups drawn for each from the divisors
/// of the channels' greatest common divisor. One kernel is told from another by `identity`. Throws
/// UserError for limits that contradict each other and for layers that `Targets` refuses.
SamplingResult sample(const std::vector<substitute::LayerShape>& layers, const KernelLimits& limits,
                      const SamplingOptions& options);

}  // namespace opsmith::synthesis::canvas
