#include "substitute/refit/backward/backward.h"

#include <algorithm>
#include <set>

#include "runtime/expression/differentiation.h"
#include "substitute/refit/backward/plain_gradient.h"
#include "substitute/refit/backward/stage_node.h"
#include "support/error.h"

namespace opsmith::substitute {

namespace {

using expression::Program;
using expression::Stage;
using graph::Graph;
using graph::Node;
using graph::ValueId;

/// Functions f with f'(x) = f'(f(x)) wherever they are differentiable: their gradient can be read
/// off the result, so that nothing else keeps their input alive and they fuse into what makes it.
bool gradient_follows_result(const Node& node) { return node.is("Relu") || node.is("Clip"); }

/// The tensor that a stage is a mere copy of, as the gradient of an addition is.
std::optional<std::string> copied_tensor(const Program& program, const Stage& stage) {
  const expression::Scalar& body = stage.body;
  if (stage.reduction != expression::Reduction::None || stage.epilogue || stage.scatters() ||
      body.kind() != expression::Scalar::Kind::Read || body.indices().size() != stage.axes.size() ||
      program.shape_of(body.tensor()) != stage.shape() ||
      program.type_of(body.tensor()) != stage.type) {
    return std::nullopt;
  }
  for (size_t d = 0; d < stage.axes.size(); ++d) {
    if (!(body.indices()[d] == expression::Index::iterator(stage.axes[d].name))) {
      return std::nullopt;
    }
  }
  return body.tensor();
}

class Backward {
 public:
  Backward(graph::Model& model, const std::vector<ValueId>& wanted)
      : model_(model), graph_(model.graph), depends_(wanted.begin(), wanted.end()) {
    for (const Node& node : graph_.nodes) {
      const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ValueId id) { return depends_.contains(id); });
      if (!reads) continue;
      for (const ValueId id : node.outputs) {
        if (id != graph::kNoValue && graph_.value(id).type == ElementType::Float32) {
          depends_.insert(id);
        }
      }
    }
  }

  Gradients run(const Gradients& seeds) {
    for (const auto& [value, gradient] : seeds) pending_[value].push_back(gradient);
    const size_t forward = graph_.nodes.size();
    for (size_t i = forward; i-- > 0;) {
      const Node node = graph_.nodes[i];  // a copy: nodes are appended below
      std::vector<ValueId> incoming;
      for (const ValueId id : node.outputs) incoming.push_back(total(id));
      const bool any = std::any_of(incoming.begin(), incoming.end(),
                                   [](ValueId id) { return id != graph::kNoValue; });
      const bool needed = std::any_of(node.inputs.begin(), node.inputs.end(),
                                      [&](ValueId id) { return depends_.contains(id); });
      if (any && needed) differentiate_node(node, incoming);
    }
    return std::move(totals_);
  }

  ValueId total(ValueId id) {
    if (id == graph::kNoValue) return id;
    const auto known = totals_.find(id);
    if (known != totals_.end()) return known->second;
    const auto found = pending_.find(id);
    if (found == pending_.end() || !depends_.contains(id)) return graph::kNoValue;
    ValueId sum = found->second.front();
    for (size_t i = 1; i < found->second.size(); ++i) {
      const graph::Value value = graph_.value(id);
      sum = graph_.add_node("Add", {sum, found->second[i]}, {}, 1, "", value.name + ".gradient");
      graph_.value(sum).type = value.type;
      graph_.value(sum).shape = value.shape;
    }
    return totals_[id] = sum;
  }

 private:
  void differentiate_node(const Node& node, const std::vector<ValueId>& incoming) {
    const std::optional<kernels::Lowered> lowered = lower_node(model_, node);
    if (lowered && node.outputs.size() == 1) {
      require(lowered->program.stages.size() == 1,
              graph::describe(node) + " was not split into stages");
      return differentiate_stage(node, *lowered, incoming.front());
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!depends_.contains(node.inputs[i])) continue;
      const std::optional<ValueId> gradient = plain_gradient(model_, node, i, incoming);
      if (!gradient) throw Unsupported(graph::describe(node) + " has no gradient");
      pending_[node.inputs[i]].push_back(*gradient);
    }
  }

  void differentiate_stage(const Node& node, const kernels::Lowered& lowered, ValueId incoming) {
    const Program& program = lowered.program;
    const std::string& output = program.outputs.front();
    std::map<std::string, ValueId> tensors = {{output, node.outputs.front()},
                                              {expression::gradient_name(output), incoming}};
    std::vector<std::string> names;
    std::vector<ValueId> values;
    size_t position = 0;
    for (const auto* declarations : {&program.inputs, &program.weights}) {
      for (const auto& declaration : *declarations) {
        const ValueId id = node.inputs.at(static_cast<size_t>(lowered.arguments.at(position++)));
        tensors[declaration.name] = id;
        if (!depends_.contains(id)) continue;
        names.push_back(declaration.name);
        values.push_back(id);
      }
    }
    if (names.empty()) return;
    Program gradient;
    try {
      gradient = expression::differentiate(program, names);
    } catch (const Unsupported& error) {
      throw Unsupported(graph::describe(node) + ": " + error.what());
    }
    if (gradient_follows_result(node)) tensors["x0"] = node.outputs.front();
    for (const Stage& stage : gradient.stages) {
      if (stage.name == output) continue;  // what the forward pass made
      if (const auto same = copied_tensor(gradient, stage)) {
        tensors[stage.name] = tensors.at(*same);
        continue;
      }
      Node made = make_stage_node(graph_, gradient, stage, tensors, node.name + "." + stage.name);
      tensors[stage.name] = made.outputs.front();
      graph_.nodes.push_back(std::move(made));
    }
    for (size_t i = 0; i < names.size(); ++i) {
      pending_[values[i]].push_back(tensors.at(expression::gradient_name(names[i])));
    }
  }

  graph::Model& model_;
  Graph& graph_;
  std::set<ValueId> depends_;  ///< values that change when a wanted one does
  std::map<ValueId, std::vector<ValueId>> pending_;
  Gradients totals_;
};

}  // namespace

Gradients append_backward(graph::Model& model, const Gradients& seeds,
                          const std::vector<ValueId>& wanted) {
  Backward backward(model, wanted);
  backward.run(seeds);
  Gradients result;
  for (const ValueId id : wanted) {
    const ValueId gradient = backward.total(id);
    if (gradient != graph::kNoValue) result[id] = gradient;
  }
  model.opsets["opsmith"] = 1;
  return result;
}

}  // namespace opsmith::substitute
