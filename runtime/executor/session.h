#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/schedule/kernel_provider.h"
#include "runtime/schedule/target.h"

namespace opsmith::schedule {
class ScheduleLibrary;
struct KernelProblem;
}  // namespace opsmith::schedule

namespace opsmith::executor {

using Tensors = std::map<std::string, Tensor>;

struct SessionOptions {
  int threads = 1;
  std::string target = "native";
  /// Values, beside the graph outputs, that `run` returns too (by name).
  std::vector<std::string> keep;
  /// Inputs that hold weights (a model that is being trained): kernels read them packed, which is
  /// done anew on every run.
  std::vector<std::string> parameters;
  bool blocked_layouts = true;
  bool fuse = true;
  /// Only programs that sum as the model's operators do: no Winograd convolutions.
  bool exact = false;
  /// No packed weights that are larger than the model's own: no Winograd convolutions either.
  bool low_memory = false;
  /// Measured schedules to choose from; null: all are chosen by rule.
  std::shared_ptr<schedule::ScheduleLibrary> schedules;
  /// How many plans (one per concrete input shape) stay in memory.
  size_t plans = 8;
};

/// Time and cost of one step of a plan.
struct StepProfile {
  std::string node;       ///< name of the graph node (fused ones joined by '+')
  std::string operation;  ///< "Conv", "layout", ...
  std::string variant;    ///< "direct 14x2x16", "plain"
  Shape output;
  double milliseconds = 0;
  int64_t multiply_accumulates = 0;
  std::shared_ptr<const schedule::KernelProblem> problem;  ///< of a compiled kernel
};

/// A model ready to run. `run` may be called from several threads at once. Plans are made per
/// concrete input shape on first use.
class Session {
 public:
  Session(graph::Model model, std::shared_ptr<schedule::KernelProvider> provider,
          SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Outputs by name. Throws UserError naming the input that is missing or of the wrong shape.
  Tensors run(const Tensors& inputs) const;

  /// Runs once and times every step.
  std::vector<StepProfile> profile(const Tensors& inputs) const;

  /// Makes the plan for these shapes now (compiling what is missing).
  void prepare(const std::map<std::string, Shape>& input_shapes) const;

  /// Bytes of arena and packed weights of the plan for these inputs.
  int64_t arena_bytes(const std::map<std::string, Shape>& input_shapes) const;
  int64_t weight_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace opsmith::executor
