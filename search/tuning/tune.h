#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/executor/session.h"
#include "runtime/schedule/database.h"

namespace opsmith::search {

struct TuneOptions {
  double seconds = 60;               ///< for measuring, in all
  executor::SessionOptions session;  ///< threads, target, which variants are allowed
  uint64_t seed = 1;
};

/// What became of one distinct kernel of a model.
struct TunedKernel {
  std::string node;  ///< the first layer that uses it
  int64_t uses = 0;
  int64_t multiply_accumulates = 0;  ///< of one use
  std::string variant_before, variant_after;
  double seconds_before = 0;  ///< by rule
  double seconds_after = 0;   ///< the best, measured in turns with the rule's
  int64_t measured = 0;       ///< candidates, those known from earlier runs not counted
};

/// Searches schedules for the kernels of a model, those that take the most time of it longest, and
/// adds every measurement to the database, losing ones too. The rule's own choice is the first
/// candidate of each kernel and the yardstick of all others: times are ratios to it, measured in
/// turns. Schedules that the database knows already are not measured again, so that a later call
/// goes on where this one stopped. Ends when the time is over or the user interrupts.
std::vector<TunedKernel> tune(const graph::Model& model,
                              const std::map<std::string, Tensor>& inputs,
                              const std::shared_ptr<schedule::KernelProvider>& provider,
                              schedule::ScheduleDatabase& database, const TuneOptions& options);

}  // namespace opsmith::search
