#include "runtime/executor/reference.h"

#include "runtime/executor/functions.h"
#include "runtime/executor/node_evaluation.h"
#include "support/error.h"

namespace opsmith::executor {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using Environment = std::map<std::string, Tensor>;

class ReferenceRun {
 public:
  explicit ReferenceRun(const graph::Model& model) : model_(model) {}

  /// Computes all nodes; `values` holds the inputs and what subgraphs capture, and receives
  /// everything computed.
  void run(const Graph& graph, Environment& values) const {
    for (size_t id = 0; id < graph.value_count(); ++id) {
      const graph::Value& value = graph.value(static_cast<ValueId>(id));
      if (value.constant) values.try_emplace(value.name, *value.constant);
    }
    for (const Node& node : graph.nodes) {
      std::vector<Tensor> inputs;
      for (ValueId id : node.inputs) inputs.push_back(lookup(graph, id, values, node));
      std::vector<Tensor> outputs = compute(node, inputs, values);
      for (size_t i = 0; i < node.outputs.size() && i < outputs.size(); ++i) {
        if (node.outputs[i] != graph::kNoValue) {
          values[graph.value(node.outputs[i]).name] = outputs[i];
        }
      }
    }
  }

 private:
  Tensor lookup(const Graph& graph, ValueId id, const Environment& values, const Node& node) const {
    if (id == graph::kNoValue) return {};
    auto found = values.find(graph.value(id).name);
    if (found == values.end()) {
      throw UserError(graph::describe(node) + ": input '" + graph.value(id).name +
                      "' has no value");
    }
    return found->second;
  }

  std::vector<Tensor> compute(const Node& node, std::span<const Tensor> inputs,
                              const Environment& values) const {
    return is_control_flow(node) ? control(node, inputs, values)
                                 : evaluate_node(node, model_, inputs);
  }

 public:
  std::vector<Tensor> control(const Node& node, std::span<const Tensor> inputs,
                              const Environment& values) const {
    if (node.is("If")) {
      bool condition = inputs[0].cast(ElementType::Int64).data<int64_t>()[0] != 0;
      return run_body(body_of(node, condition ? "then_branch" : "else_branch"), {}, values);
    }
    return run_loop(node, inputs, values);
  }

 private:
  static const Graph& body_of(const Node& node, const std::string& attribute) {
    auto found = node.attributes.find(attribute);
    const auto* body = found == node.attributes.end()
                           ? nullptr
                           : std::get_if<std::shared_ptr<Graph>>(&found->second);
    if (body == nullptr) throw UserError(graph::describe(node) + ": no subgraph " + attribute);
    return **body;
  }

  std::vector<Tensor> run_body(const Graph& body, const std::vector<Tensor>& inputs,
                               Environment values) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      values[body.value(body.inputs.at(i)).name] = inputs[i];
    }
    run(body, values);
    std::vector<Tensor> outputs;
    for (ValueId id : body.outputs) outputs.push_back(values.at(body.value(id).name));
    return outputs;
  }

  // Inputs: trip count, condition, carried values. Body: (iteration, condition, carried) to
  // (condition, carried, scanned); scanned outputs are stacked along a new first dimension.
  std::vector<Tensor> run_loop(const Node& node, std::span<const Tensor> inputs,
                               const Environment& values) const {
    const Graph& body = body_of(node, "body");
    auto first = [](const Tensor& t) { return t.cast(ElementType::Int64).data<int64_t>()[0]; };
    bool limited = inputs[0].defined();
    int64_t trips = limited ? first(inputs[0]) : 0;
    bool go_on = !inputs[1].defined() || first(inputs[1]) != 0;
    std::vector<Tensor> carried(inputs.begin() + 2, inputs.end());
    std::vector<std::vector<Tensor>> scanned(node.outputs.size() - carried.size());
    for (int64_t i = 0; go_on && (!limited || i < trips); ++i) {
      std::vector<Tensor> arguments = {Tensor::scalar(i), Tensor::scalar(true)};
      arguments.insert(arguments.end(), carried.begin(), carried.end());
      std::vector<Tensor> results = run_body(body, arguments, values);
      go_on = first(results.at(0)) != 0;
      for (size_t k = 0; k < carried.size(); ++k) carried[k] = results.at(1 + k);
      for (size_t k = 0; k < scanned.size(); ++k) {
        scanned[k].push_back(results.at(1 + carried.size() + k));
      }
    }
    for (const std::vector<Tensor>& slices : scanned) carried.push_back(stack(slices, node));
    return carried;
  }

  Tensor stack(const std::vector<Tensor>& slices, const Node& node) const {
    if (slices.empty()) {
      throw Unsupported(graph::describe(node) + ": scan outputs of a loop without iterations");
    }
    std::vector<Tensor> raised;
    for (const Tensor& slice : slices) {
      Shape shape = slice.shape();
      shape.insert(shape.begin(), 1);
      raised.push_back(slice.reshaped(shape));
    }
    Node concat;
    concat.type = "Concat";
    concat.name = node.name;
    concat.attributes["axis"] = int64_t{0};
    concat.outputs = {0};
    return evaluate_node(concat, model_, raised).at(0);
  }

  const graph::Model& model_;
};

}  // namespace

bool is_control_flow(const Node& node) { return node.is("If") || node.is("Loop"); }

std::vector<Tensor> run_control_flow(const Node& node, const graph::Model& model,
                                     std::span<const Tensor> inputs,
                                     const std::map<std::string, Tensor>& environment) {
  return ReferenceRun(model).control(node, inputs, environment);
}

std::map<std::string, Tensor> run_reference(const graph::Model& model,
                                            const std::map<std::string, Tensor>& inputs,
                                            const std::vector<std::string>& keep) {
  graph::Model flat = model;
  inline_functions_without_program(flat);
  Environment values = inputs;
  for (ValueId id : flat.graph.inputs) {
    const graph::Value& value = flat.graph.value(id);
    if (!values.contains(value.name) && !value.constant) {
      throw UserError("input '" + value.name + "' is missing");
    }
  }
  ReferenceRun(flat).run(flat.graph, values);
  std::map<std::string, Tensor> results;
  for (ValueId id : flat.graph.outputs) {
    const std::string& name = flat.graph.value(id).name;
    auto found = values.find(name);
    if (found == values.end()) throw UserError("output '" + name + "' has no value");
    results[name] = found->second;
  }
  for (const std::string& name : keep) {
    auto found = values.find(name);
    if (found == values.end()) throw UserError("there is no value named '" + name + "'");
    results[name] = found->second;
  }
  return results;
}

}  // namespace opsmith::executor
