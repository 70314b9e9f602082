#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/executor/operation.h"
#include "runtime/executor/session.h"
#include "runtime/executor/weights.h"
#include "runtime/schedule/kernel_provider.h"

namespace opsmith::executor {

/// Where a value's elements are while a plan runs.
struct Location {
  enum class Kind {
    Nowhere,   ///< never read, or absent
    Arena,     ///< at `offset`
    Input,     ///< the caller's tensor number `index`
    Output,    ///< the result tensor number `index`
    Constant,  ///< at `data`
    Heap,      ///< made while running: the shape depends on data
  };
  Kind kind = Kind::Nowhere;
  int64_t offset = 0;
  size_t index = 0;
  const void* data = nullptr;
};

/// One thing to run, bound to code and memory.
struct Step {
  Operation operation;
  std::shared_ptr<const compiler::LoadedKernel> kernel;  ///< of an Expression
  std::string variant;
  std::shared_ptr<const schedule::KernelProblem> problem;  ///< of an Expression
  int64_t multiply_accumulates = 0;
  int64_t workspace = 0;  ///< offset in the arena
};

/// All that is fixed for one set of input shapes. Immutable once built; any number of threads may
/// run it at once, each with its own arena.
struct Plan {
  std::shared_ptr<const graph::Model> model;
  std::vector<PlanValue> values;
  std::vector<Location> locations;  ///< one per value
  std::vector<Step> steps;
  std::vector<ValueId> inputs, outputs;
  std::vector<std::string> output_names;
  int64_t arena_bytes = 0;
  WeightStore own_constants;  ///< those that exist only for these shapes

  const PlanValue& value(ValueId id) const { return values.at(static_cast<size_t>(id)); }
  const Location& location(ValueId id) const { return locations.at(static_cast<size_t>(id)); }
};

/// What plans of one session share.
struct PlanContext {
  std::shared_ptr<const graph::Model> prepared;
  std::shared_ptr<schedule::KernelProvider> provider;
  schedule::Target target;
  SessionOptions options;
  WeightStore* weights = nullptr;
};

/// Builds the plan for these input shapes, in this order: shapes and folding, lowering, splitting
/// of synthesized operators into their stages, fusion, layouts, kernels (compiled in parallel),
/// memory.
std::shared_ptr<const Plan> build_plan(const PlanContext& context,
                                       const std::map<std::string, Shape>& input_shapes);

/// Runs a plan with `arena` (64-byte aligned, arena_bytes). `inputs` are in the plan's order.
/// Where `profile` is given, one entry per step is appended.
std::vector<Tensor> run_plan(const Plan& plan, const std::vector<Tensor>& inputs, void* arena,
                             int threads, std::vector<StepProfile>* profile);

}  // namespace opsmith::executor
