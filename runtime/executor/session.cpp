#include "runtime/executor/session.h"

#include <cstring>
#include <list>
#include <mutex>

#include "runtime/executor/plan.h"
#include "runtime/executor/prepare.h"
#include "support/aligned_memory.h"
#include "support/denormals.h"
#include "support/error.h"

namespace opsmith::executor {
namespace {

using Shapes = std::map<std::string, Shape>;

/// Arenas that wait for the next run; as many as ran at once.
class ArenaPool {
 public:
  explicit ArenaPool(int64_t bytes) : bytes_(static_cast<size_t>(bytes) + 64) {}

  std::shared_ptr<void> take() {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::shared_ptr<void> arena = free_.back();
        free_.pop_back();
        return arena;
      }
    }
    std::shared_ptr<void> memory = allocate_aligned(bytes_);
    // Padding of channel blocks must hold finite numbers.
    std::memset(memory.get(), 0, bytes_);
    return memory;
  }
  void give_back(std::shared_ptr<void> arena) {
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(arena));
  }

 private:
  size_t bytes_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<void>> free_;
};

struct CachedPlan {
  Shapes shapes;
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<ArenaPool> arenas;
};

std::string shape_text(const graph::Value& value) {
  return value.shape ? graph::to_string(*value.shape) : "of any rank";
}

}  // namespace

struct Session::State {
  PlanContext context;
  WeightStore weights;
  std::mutex mutex;
  std::list<CachedPlan> plans;  // the last used first

  CachedPlan plan_for(const Shapes& shapes) {
    std::lock_guard lock(mutex);
    for (auto it = plans.begin(); it != plans.end(); ++it) {
      if (it->shapes != shapes) continue;
      plans.splice(plans.begin(), plans, it);
      return plans.front();
    }
    CachedPlan made{shapes, build_plan(context, shapes), nullptr};
    made.arenas = std::make_shared<ArenaPool>(made.plan->arena_bytes);
    plans.push_front(made);
    while (plans.size() > std::max<size_t>(1, context.options.plans)) plans.pop_back();
    return made;
  }

  const graph::Graph& graph() const { return context.prepared->graph; }

  // The caller's tensors in the graph's order, checked.
  std::vector<Tensor> ordered(const Tensors& inputs) const {
    std::vector<Tensor> result;
    size_t used = 0;
    for (graph::ValueId id : graph().inputs) {
      const graph::Value& value = graph().value(id);
      auto found = inputs.find(value.name);
      if (found == inputs.end()) {
        if (!value.constant) throw UserError("input '" + value.name + "' is missing");
        result.push_back(*value.constant);
        continue;
      }
      ++used;
      check(value, found->second);
      if (!is_plain_data(value.type)) {
        result.push_back(found->second);
        continue;
      }
      bool aligned = reinterpret_cast<uintptr_t>(found->second.raw()) % 64 == 0;
      result.push_back(aligned ? found->second : found->second.clone());
    }
    if (used != inputs.size()) {
      for (const auto& [name, tensor] : inputs) {
        bool known = false;
        for (graph::ValueId id : graph().inputs) known |= graph().value(id).name == name;
        if (!known) throw UserError("the model has no input '" + name + "'");
      }
    }
    return result;
  }

  static void check(const graph::Value& value, const Tensor& tensor) {
    if (value.type != ElementType::Undefined && tensor.type() != value.type) {
      throw UserError("input '" + value.name + "' must be " + to_string(value.type) + ", not " +
                      to_string(tensor.type()));
    }
    if (!value.shape) return;
    bool fits = value.shape->size() == tensor.shape().size();
    for (size_t i = 0; fits && i < tensor.shape().size(); ++i) {
      const graph::Dimension& dimension = (*value.shape)[i];
      fits = !dimension.known() || *dimension.size == tensor.shape()[i];
    }
    if (!fits) {
      throw UserError("input '" + value.name + "' must be " + shape_text(value) + ", not " +
                      to_string(tensor.shape()));
    }
  }

  Tensors run(const Tensors& inputs, std::vector<StepProfile>* profile) {
    std::vector<Tensor> tensors = ordered(inputs);
    Shapes shapes;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const graph::Value& value = graph().value(graph().inputs[i]);
      if (is_plain_data(value.type)) shapes[value.name] = tensors[i].shape();
    }
    CachedPlan cached = plan_for(shapes);
    std::shared_ptr<void> arena = cached.arenas->take();
    FlushDenormals flush;
    std::vector<Tensor> results =
        run_plan(*cached.plan, tensors, arena.get(), context.options.threads, profile);
    cached.arenas->give_back(std::move(arena));
    Tensors named;
    for (size_t i = 0; i < results.size(); ++i) {
      named[cached.plan->output_names[i]] = std::move(results[i]);
    }
    return named;
  }
};

Session::Session(graph::Model model, std::shared_ptr<schedule::KernelProvider> provider,
                 SessionOptions options)
    : state_(std::make_unique<State>()) {
  PlanContext& context = state_->context;
  context.prepared =
      std::make_shared<const graph::Model>(prepare_model(std::move(model), options.keep));
  context.provider = std::move(provider);
  context.target = schedule::detect_target(options.target, options.threads);
  context.options = std::move(options);
  context.weights = &state_->weights;
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Tensors Session::run(const Tensors& inputs) const { return state_->run(inputs, nullptr); }

std::vector<StepProfile> Session::profile(const Tensors& inputs) const {
  std::vector<StepProfile> profile;
  state_->run(inputs, &profile);
  return profile;
}

void Session::prepare(const Shapes& input_shapes) const { state_->plan_for(input_shapes); }

int64_t Session::arena_bytes(const Shapes& input_shapes) const {
  return state_->plan_for(input_shapes).plan->arena_bytes;
}

int64_t Session::weight_bytes() const { return state_->weights.bytes(); }

}  // namespace opsmith::executor
