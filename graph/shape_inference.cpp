#include "graph/shape_inference.h"

#include <algorithm>
#include <unordered_map>

#include "graph/function.h"
#include "graph/operators/arity.h"
#include "graph/operators/operator.h"
#include "support/error.h"

namespace opsmith::graph {
namespace {

/// Nodes inferred inside bodies of functions, in all: functions that call functions that call
/// functions could otherwise multiply without end. Beyond it shapes stay unknown.
constexpr int64_t kMostBodyNodes = 1 << 20;

/// Adds what was inferred to what is declared. What is inferred wins, as declarations go stale;
/// what it leaves open stays as declared.
void merge(Value& value, const ValueInfo& found) {
  if (found.type != ElementType::Undefined) value.type = found.type;
  if (!found.shape) return;
  SymbolicShape shape = *found.shape;
  if (value.shape && value.shape->size() == shape.size()) {
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!shape[i].known() && shape[i].symbol.empty()) shape[i] = (*value.shape)[i];
    }
  }
  value.shape = std::move(shape);
}

/// Infers one graph; graphs inside it are inferred by further ones that know it as `outer_`.
class GraphInference {
 public:
  GraphInference(const Model& model, const std::map<std::string, int64_t>& opsets, Graph& graph,
                 const GraphInference* outer, int64_t& budget)
      : model_(model), opsets_(opsets), graph_(graph), outer_(outer), budget_(budget) {
    infos_.reserve(graph.value_count());
    for (size_t i = 0; i < graph.value_count(); ++i) {
      const Value& value = graph.value(static_cast<ValueId>(i));
      ids_.emplace(value.name, static_cast<ValueId>(i));
      infos_.push_back(declared(value));
      if (!value.captured || !outer_) continue;
      if (const ValueInfo* source = outer_->find(value.name)) {
        set(static_cast<ValueId>(i), *source);
      }
    }
  }

  /// Graph inputs are known to be this from the caller.
  void set_inputs(const std::vector<ValueInfo>& inputs) {
    for (size_t i = 0; i < std::min(inputs.size(), graph_.inputs.size()); ++i) {
      set(graph_.inputs[i], inputs[i]);
    }
  }

  void run() {
    for (Node& node : graph_.nodes) infer(node);
  }

  const std::vector<ValueInfo>& infos() const { return infos_; }

  std::vector<ValueInfo> outputs() const {
    std::vector<ValueInfo> result;
    for (const ValueId id : graph_.outputs) result.push_back(infos_[static_cast<size_t>(id)]);
    return result;
  }

  /// The instantiated body of the function that a node calls, inferred.
  Graph body_of(const Node& node) {
    const Function* function = model_.find_function(node.domain, node.type);
    require(function, "node " + describe(node) + " calls no function");
    Graph body = instantiate_body(*function, node);
    infer_function_body(*function, node, body);
    return body;
  }

 private:
  static ValueInfo declared(const Value& value) {
    ValueInfo info;
    info.type = value.type;
    info.shape = value.shape;
    if (value.constant) {
      const Shape& shape = value.constant->shape();
      info.constant = *value.constant;
      info.type = value.constant->type();
      info.shape = SymbolicShape(shape.begin(), shape.end());
    }
    return info;
  }

  const ValueInfo* find(const std::string& name) const {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return &infos_[static_cast<size_t>(found->second)];
    return outer_ ? outer_->find(name) : nullptr;
  }

  void set(ValueId id, const ValueInfo& found) {
    Value& value = graph_.value(id);
    merge(value, found);
    ValueInfo& info = infos_[static_cast<size_t>(id)];
    info = found;
    info.type = value.type;
    info.shape = value.shape;
  }

  std::vector<ValueInfo> inputs_of(const Node& node) const {
    std::vector<ValueInfo> inputs;
    for (const ValueId id : node.inputs) {
      inputs.push_back(id == kNoValue ? ValueInfo() : infos_[static_cast<size_t>(id)]);
    }
    return inputs;
  }

  int64_t opset() const {
    const auto found = opsets_.find("");
    return found == opsets_.end() ? 1 : found->second;
  }

  void infer(Node& node) {
    std::vector<ValueInfo> found;
    if (const Function* function = model_.find_function(node.domain, node.type)) {
      found = infer_function(*function, node);
    } else if (const OperatorDefinition* definition =
                   node.domain.empty() ? find_operator(node.type) : nullptr) {
      check_arity(node);
      found = infer_operator(*definition, node);
    }
    for (size_t i = 0; i < std::min(found.size(), node.outputs.size()); ++i) {
      if (node.outputs[i] != kNoValue) set(node.outputs[i], found[i]);
    }
  }

  std::vector<ValueInfo> infer_operator(const OperatorDefinition& definition, Node& node) {
    Inference inference(node, node.opset != 0 ? node.opset : opset(), inputs_of(node),
                        [&](const std::string& attribute, const std::vector<ValueInfo>& inputs,
                            bool keep) { return infer_body(node, attribute, inputs, keep); });
    try {
      definition.infer(inference);
    } catch (const UserError& error) {
      const std::string message = error.what();
      if (message.starts_with("node ")) throw;
      inference.fail(message);
    }
    return inference.outputs();
  }

  std::vector<ValueInfo> infer_body(Node& node, const std::string& name,
                                    const std::vector<ValueInfo>& inputs, bool keep) {
    const auto attribute = node.attributes.find(name);
    auto* body = attribute == node.attributes.end()
                     ? nullptr
                     : std::get_if<std::shared_ptr<Graph>>(&attribute->second);
    if (!body) throw UserError("node " + describe(node) + ": it has no graph '" + name + "'");
    auto copy = std::make_shared<Graph>(**body);
    GraphInference inner(model_, opsets_, *copy, this, budget_);
    inner.set_inputs(inputs);
    inner.run();
    std::vector<ValueInfo> outputs = inner.outputs();
    if (keep) *body = std::move(copy);
    return outputs;
  }

  std::vector<ValueInfo> infer_function(const Function& function, const Node& node) {
    if (budget_ <= 0) return {};
    Graph body = instantiate_body(function, node);
    return infer_function_body(function, node, body);
  }

  std::vector<ValueInfo> infer_function_body(const Function& function, const Node& node,
                                             Graph& body) {
    budget_ -= static_cast<int64_t>(body.nodes.size()) + 1;
    const auto& opsets = function.opsets.empty() ? opsets_ : function.opsets;
    GraphInference inner(model_, opsets, body, nullptr, budget_);
    inner.set_inputs(inputs_of(node));
    try {
      inner.run();
    } catch (const UserError& error) {
      throw UserError("node " + describe(node) + ", in its function: " + error.what());
    }
    return inner.outputs();
  }

  const Model& model_;
  const std::map<std::string, int64_t>& opsets_;
  Graph& graph_;
  const GraphInference* outer_;
  int64_t& budget_;
  std::vector<ValueInfo> infos_;  ///< of each value
  std::unordered_map<std::string, ValueId> ids_;
};

/// Replaces symbols that now have a number in everything that is declared.
void bind_symbols(Graph& graph, const std::map<std::string, int64_t>& sizes) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    Value& value = graph.value(static_cast<ValueId>(i));
    if (!value.shape) continue;
    for (Dimension& dimension : *value.shape) {
      const auto found = sizes.find(dimension.symbol);
      if (!dimension.known() && found != sizes.end()) dimension = found->second;
    }
  }
  for (Node& node : graph.nodes) {
    if (!has_subgraphs(node)) continue;
    for_each_subgraph(node, [&](Graph& nested) { bind_symbols(nested, sizes); });
  }
}

std::optional<Tensor> known_tensor(const ValueInfo& info) {
  const bool integers = info.type == ElementType::Int64 || info.type == ElementType::Int32;
  const auto shape = info.shape ? concrete(*info.shape) : std::nullopt;
  if (!integers || !info.elements || !shape || shape->size() > 1) return std::nullopt;
  if (element_count(*shape) != static_cast<int64_t>(info.elements->size())) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Dimension& element : *info.elements) {
    if (!element.known()) return std::nullopt;
    numbers.push_back(*element.size);
  }
  return Tensor::of<int64_t>(*shape, numbers).cast(info.type);
}

}  // namespace

void infer_shapes(Model& model) {
  int64_t budget = kMostBodyNodes;
  try {
    GraphInference(model, model.opsets, model.graph, nullptr, budget).run();
  } catch (const UserError& error) {
    if (model.source.empty()) throw;
    throw UserError(model.source + ": " + error.what());
  }
}

Graph inferred_body(const Model& model, const Graph& graph, const Node& node) {
  int64_t budget = kMostBodyNodes;
  Graph outer = graph;
  outer.nodes.clear();
  return GraphInference(model, model.opsets, outer, nullptr, budget).body_of(node);
}

std::vector<std::optional<Tensor>> infer_known_tensors(Model& model) {
  int64_t budget = kMostBodyNodes;
  GraphInference inference(model, model.opsets, model.graph, nullptr, budget);
  inference.run();
  std::vector<std::optional<Tensor>> result;
  for (const ValueInfo& info : inference.infos()) result.push_back(known_tensor(info));
  return result;
}

void fix_input_shapes(Model& model, const std::map<std::string, Shape>& shapes) {
  std::map<std::string, int64_t> sizes;
  for (const auto& [name, shape] : shapes) {
    const std::optional<ValueId> id = model.graph.find(name);
    if (!id || !model.graph.is_input(*id)) {
      std::string inputs;
      for (const ValueId input : model.graph.inputs) {
        inputs += (inputs.empty() ? "'" : ", '") + model.graph.value(input).name + "'";
      }
      throw UserError("the model has no input '" + name + "'; its inputs are " + inputs);
    }
    Value& value = model.graph.value(*id);
    const auto contradict = [&] {
      throw UserError("the shape " + opsmith::to_string(shape) + " given for input '" + name +
                      "' contradicts the model's " + to_string(*value.shape));
    };
    element_count(shape);  // refuses negative sizes
    if (value.shape && value.shape->size() != shape.size()) contradict();
    for (size_t i = 0; value.shape && i < shape.size(); ++i) {
      const Dimension& declared = (*value.shape)[i];
      if (declared.known() && *declared.size != shape[i]) contradict();
      if (declared.known() || declared.symbol.empty()) continue;
      const auto [bound, fresh] = sizes.emplace(declared.symbol, shape[i]);
      if (!fresh && bound->second != shape[i]) {
        throw UserError("the dimension '" + declared.symbol + "' of input '" + name +
                        "' cannot be both " + std::to_string(bound->second) + " and " +
                        std::to_string(shape[i]));
      }
    }
    if (!value.shape) value.shape = SymbolicShape(shape.begin(), shape.end());
  }
  for (const auto& [name, shape] : shapes) {
    Value& value = model.graph.value(*model.graph.find(name));
    value.shape = SymbolicShape(shape.begin(), shape.end());
  }
  bind_symbols(model.graph, sizes);
  infer_shapes(model);
}

}  // namespace opsmith::graph
