#include "runtime/executor/bind_memory.h"

#include <map>
#include <set>

#include "runtime/executor/memory.h"
#include "runtime/schedule/variants/variant.h"

namespace opsmith::executor {
namespace {

using graph::kNoValue;

int64_t storage_bytes(const PlanValue& value) {
  return value.layout.storage_count(*value.shape) * static_cast<int64_t>(element_size(value.type));
}

class MemoryBinding {
 public:
  MemoryBinding(Plan& plan, const PlanContext& context) : plan_(plan), context_(context) {}

  void bind() {
    plan_.locations.resize(plan_.values.size());
    std::vector<ValueId> roots = find_roots();
    auto root = [&](ValueId id) { return roots[static_cast<size_t>(id)]; };
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      location(plan_.inputs[i]).kind = Location::Kind::Input;
      location(plan_.inputs[i]).index = i;
    }
    for (size_t i = 0; i < plan_.values.size(); ++i) bind_constant(static_cast<ValueId>(i));
    place_parts(root);
    bind_outputs(root);
    bind_arena(root);
    for (auto it = parts_.rbegin(); it != parts_.rend(); ++it) {
      location(it->part) = location(it->whole);  // wholes of wholes come later in the list
      location(it->part).offset += it->offset;
    }
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      plan_.locations[i] = plan_.locations[static_cast<size_t>(roots[i])];
    }
  }

 private:
  const PlanValue& value(ValueId id) const { return plan_.value(id); }
  Location& location(ValueId id) { return plan_.locations.at(static_cast<size_t>(id)); }

  // Which values share memory: a view with its input.
  std::vector<ValueId> find_roots() {
    std::vector<ValueId> roots(plan_.values.size());
    for (size_t i = 0; i < roots.size(); ++i) roots[i] = static_cast<ValueId>(i);
    for (const Step& step : plan_.steps) {
      if (step.operation.kind != Operation::Kind::View) continue;
      roots[static_cast<size_t>(step.operation.outputs[0])] =
          roots[static_cast<size_t>(step.operation.inputs[0])];
    }
    return roots;
  }

  /// A value that is made inside the concatenation that reads it.
  struct Part {
    ValueId part = kNoValue, whole = kNoValue;
    int64_t offset = 0;  ///< bytes
  };

  // Channel blocks of one image lie one after the other, so parts of a concatenation can be made
  // where they belong. A value can be part of one concatenation only; others copy it.
  template <typename Root>
  void place_parts(const Root& root) {
    for (const Step& step : plan_.steps) {
      if (step.operation.kind != Operation::Kind::Join) continue;
      ValueId whole = step.operation.outputs[0];
      const PlanValue& joined = value(whole);
      if (joined.shape->at(0) != 1) continue;
      int64_t plane = joined.layout.piece_strides(*joined.shape)[1];
      int64_t channels = 0;
      for (ValueId id : step.operation.inputs) {
        int64_t offset = channels / joined.layout.block_of(1) * plane *
                         static_cast<int64_t>(element_size(joined.type));
        channels += value(id).shape->at(1);
        bool free = root(id) == id && location(id).kind == Location::Kind::Nowhere &&
                    value(id).layout == joined.layout && !whole_of_.contains(id);
        if (!free) continue;
        whole_of_[id] = whole;
        parts_.push_back({id, whole, offset});
      }
    }
  }

  // The value whose memory holds this one.
  ValueId outermost(ValueId id) const {
    for (auto it = whole_of_.find(id); it != whole_of_.end(); it = whole_of_.find(id)) {
      id = it->second;
    }
    return id;
  }

  void bind_constant(ValueId id) {
    const PlanValue& constant = value(id);
    if (!constant.constant || !is_plain_data(constant.type)) return;
    if (location(id).kind == Location::Kind::Input) return;
    // Constants of the prepared model are packed once for all plans.
    const graph::Graph& model = context_.prepared->graph;
    auto known = model.find(constant.name);
    bool shared = known && model.constant(*known) != nullptr &&
                  model.constant(*known)->raw() == constant.constant->raw();
    WeightStore& store = shared ? *context_.weights : plan_.own_constants;
    if (!used_as_constant(id)) return;
    location(id).kind = Location::Kind::Constant;
    location(id).data = constant.preparation ? prepared(constant, store)
                                             : store.packed(*constant.constant, constant.layout);
  }

  const void* prepared(const PlanValue& weight, WeightStore& store) {
    const expression::Program& program = *weight.preparation;
    const std::string key = to_string(weight.layout) + ' ' + expression::content_hash(program);
    return store.prepared(
        *weight.constant, key, weight.layout.storage_count(*weight.shape),
        [&](const void* source, void* result) {
          const auto kernel = context_.provider->kernel(
              schedule::preparation_kernel(program, weight.layout, context_.target));
          const int threads = context_.options.threads;
          Tensor workspace(ElementType::UInt8, {kernel->workspace_bytes(threads) + 64});
          void* const arguments[] = {const_cast<void*>(source), result};
          kernel->run(arguments, workspace.raw(), threads);
        });
  }

  bool used_as_constant(ValueId id) {
    if (used_.empty()) {
      used_.resize(plan_.values.size(), false);
      for (const Step& step : plan_.steps) {
        for (ValueId input : step.operation.inputs) {
          if (input != kNoValue) used_[static_cast<size_t>(input)] = true;
        }
      }
      for (ValueId output : plan_.outputs) used_[static_cast<size_t>(output)] = true;
    }
    return used_[static_cast<size_t>(id)];
  }

  // A result that is made in an arena tensor of exactly the result's elements is made in place.
  template <typename Root>
  void bind_outputs(const Root& root) {
    std::set<ValueId> taken;
    std::set<ValueId> heap;
    for (const Step& step : plan_.steps) {
      for (ValueId id : step.operation.outputs) {
        if (id != kNoValue && step.operation.kind == Operation::Kind::Dynamic) {
          location(id).kind = Location::Kind::Heap;
        }
      }
    }
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      ValueId at = root(plan_.outputs[i]);
      if (whole_of_.contains(at)) continue;
      if (location(at).kind != Location::Kind::Nowhere || !taken.insert(at).second) continue;
      if (!value(at).shape ||
          value(at).layout.storage_count(*value(at).shape) != element_count(*value(at).shape)) {
        continue;
      }
      location(at).kind = Location::Kind::Output;
      location(at).index = i;
    }
  }

  template <typename Root>
  void bind_arena(const Root& root) {
    std::vector<MemoryRequest> requests;
    std::vector<ValueId> owners;  // kNoValue: workspace of the step
    std::map<ValueId, size_t> request_of;
    std::vector<std::pair<size_t, size_t>> workspaces;  // step, request
    auto touch = [&](ValueId id, size_t step) {
      if (id == kNoValue) return;
      ValueId at = outermost(root(id));
      auto found = request_of.find(at);
      if (found != request_of.end()) requests[found->second].last = step;
    };
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      Step& step = plan_.steps[i];
      for (ValueId id : step.operation.outputs) {
        if (id == kNoValue || root(id) != id) continue;
        ValueId owner = outermost(id);
        if (location(owner).kind == Location::Kind::Nowhere && !request_of.contains(owner)) {
          request_of[owner] = requests.size();
          requests.push_back({storage_bytes(value(owner)), i, i, 0});
          owners.push_back(owner);
        }
        touch(owner, i);
      }
      for (ValueId id : step.operation.inputs) touch(id, i);
      const int64_t workspace =
          step.kernel ? step.kernel->workspace_bytes(context_.options.threads) : 0;
      if (workspace > 0) {
        workspaces.emplace_back(i, requests.size());
        requests.push_back({workspace, i, i, 0});
        owners.push_back(kNoValue);
      }
    }
    for (ValueId id : plan_.outputs) touch(id, plan_.steps.size());
    plan_.arena_bytes = place_in_arena(requests);
    for (size_t i = 0; i < owners.size(); ++i) {
      if (owners[i] == kNoValue) continue;
      location(owners[i]).kind = Location::Kind::Arena;
      location(owners[i]).offset = requests[i].offset;
    }
    for (auto [step, request] : workspaces) {
      plan_.steps[step].workspace = requests[request].offset;
    }
  }

  Plan& plan_;
  const PlanContext& context_;
  std::vector<bool> used_;
  std::vector<Part> parts_;
  std::map<ValueId, ValueId> whole_of_;
};

}  // namespace

void bind_memory(Plan& plan, const PlanContext& context) { MemoryBinding(plan, context).bind(); }

}  // namespace opsmith::executor
