#include "graph/graph.h"

#include <algorithm>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "support/error.h"

namespace opsmith::graph {
namespace {

void collect_captures(const Graph& graph, std::set<std::string>& names) {
  std::unordered_set<std::string> defined;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value(static_cast<ValueId>(i));
    if (value.captured) {
      names.insert(value.name);
    } else {
      defined.insert(value.name);
    }
  }
  for (const Node& node : graph.nodes) {
    for_each_subgraph(node, [&](const Graph& subgraph) {
      for (const std::string& name : subgraph.captures()) {
        if (!defined.count(name)) names.insert(name);
      }
    });
  }
}

/// Renames what `graph`, the body of a node, captures under the name `from`.
void rename_capture(Graph& graph, const std::string& from, const std::string& to) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    Value& value = graph.value(static_cast<ValueId>(i));
    if (value.name != from) continue;
    if (!value.captured) return;  // a value of its own hides the outer one
    const std::optional<ValueId> present = graph.find(to);
    if (present && graph.value(*present).captured) {
      graph.replace_uses(static_cast<ValueId>(i), *present);
    } else {
      value.name = to;
    }
  }
  for (Node& node : graph.nodes) {
    if (!has_subgraphs(node)) continue;
    for_each_subgraph(node, [&](Graph& nested) { rename_capture(nested, from, to); });
  }
}

bool captures_name(const Node& node, const std::string& name) {
  bool found = false;
  for_each_subgraph(node, [&](const Graph& subgraph) {
    const std::vector<std::string> names = subgraph.captures();
    found = found || std::binary_search(names.begin(), names.end(), name);
  });
  return found;
}

void rename_captures(Graph& graph, const std::string& from, const std::string& to) {
  for (Node& node : graph.nodes) {
    if (!has_subgraphs(node) || !captures_name(node, from)) continue;
    for_each_subgraph(node, [&](Graph& subgraph) { rename_capture(subgraph, from, to); });
  }
}

/// Names in `graph` and in the bodies below it.
void visit_names(const Graph& graph, const std::function<void(const std::string&)>& visit) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    visit(graph.value(static_cast<ValueId>(i)).name);
  }
  for (const Node& node : graph.nodes) {
    for_each_subgraph(node, [&](const Graph& subgraph) { visit_names(subgraph, visit); });
  }
}

/// For each node that has subgraphs, the values of this graph that they capture.
std::vector<std::pair<size_t, std::vector<ValueId>>> captured_values(const Graph& graph) {
  std::vector<std::pair<size_t, std::vector<ValueId>>> result;
  std::unordered_map<std::string, ValueId> ids;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!has_subgraphs(node)) continue;
    if (ids.empty()) {
      for (size_t id = 0; id < graph.value_count(); ++id) {
        ids.emplace(graph.value(static_cast<ValueId>(id)).name, static_cast<ValueId>(id));
      }
    }
    std::set<ValueId> values;
    for_each_subgraph(node, [&](const Graph& subgraph) {
      for (const std::string& name : subgraph.captures()) {
        const auto found = ids.find(name);
        if (found != ids.end()) values.insert(found->second);
      }
    });
    result.emplace_back(i, std::vector<ValueId>(values.begin(), values.end()));
  }
  return result;
}

}  // namespace

std::string to_string(const SymbolicShape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i) text += ", ";
    if (shape[i].known()) {
      text += std::to_string(*shape[i].size);
    } else {
      text += shape[i].symbol.empty() ? "?" : shape[i].symbol;
    }
  }
  return text + "]";
}

std::optional<Shape> concrete(const SymbolicShape& shape) {
  Shape numbers;
  for (const Dimension& dimension : shape) {
    if (!dimension.known()) return std::nullopt;
    numbers.push_back(*dimension.size);
  }
  return numbers;
}

ValueId Graph::add_value(Value value) {
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::add_unnamed(const std::string& hint, ElementType type,
                           std::optional<SymbolicShape> shape) {
  Value value;
  value.name = unique_name(hint);
  value.type = type;
  value.shape = std::move(shape);
  return add_value(std::move(value));
}

ValueId Graph::add_constant(const std::string& hint, Tensor tensor) {
  SymbolicShape shape(tensor.shape().begin(), tensor.shape().end());
  const ValueId id = add_unnamed(hint, tensor.type(), std::move(shape));
  value(id).constant = std::move(tensor);
  return id;
}

ValueId Graph::add_node(const std::string& type, std::vector<ValueId> node_inputs,
                        std::map<std::string, Attribute> attributes, size_t output_count,
                        const std::string& domain, const std::string& node_name) {
  Node node;
  node.name = node_name;
  node.domain = domain;
  node.type = type;
  node.inputs = std::move(node_inputs);
  node.attributes = std::move(attributes);
  for (size_t i = 0; i < output_count; ++i) {
    node.outputs.push_back(add_unnamed(node_name.empty() ? type : node_name));
  }
  nodes.push_back(std::move(node));
  return nodes.back().output(0);
}

std::optional<ValueId> Graph::find(const std::string& value_name) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].name == value_name) return static_cast<ValueId>(i);
  }
  return std::nullopt;
}

std::string Graph::unique_name(const std::string& hint) const {
  bool taken = false;
  std::unordered_set<std::string> endings;
  const std::string prefix = hint + "_";
  visit_names(*this, [&](const std::string& present) {
    if (present == hint) taken = true;
    if (present.starts_with(prefix)) endings.insert(present.substr(prefix.size()));
  });
  if (!taken && !hint.empty()) return hint;
  for (size_t i = 1;; ++i) {
    if (!endings.count(std::to_string(i))) return prefix + std::to_string(i);
  }
}

const Tensor* Graph::constant(ValueId id) const {
  if (id == kNoValue) return nullptr;
  const std::optional<Tensor>& tensor = value(id).constant;
  return tensor ? &*tensor : nullptr;
}

std::vector<int32_t> Graph::producers() const {
  std::vector<int32_t> result(values_.size(), -1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const ValueId id : nodes[i].outputs) {
      if (id != kNoValue) result.at(static_cast<size_t>(id)) = static_cast<int32_t>(i);
    }
  }
  return result;
}

std::vector<std::vector<int32_t>> Graph::consumers() const {
  std::vector<std::vector<int32_t>> result(values_.size());
  const auto add = [&result](ValueId id, size_t node) {
    if (id == kNoValue) return;
    std::vector<int32_t>& readers = result.at(static_cast<size_t>(id));
    const auto index = static_cast<int32_t>(node);
    if (std::find(readers.begin(), readers.end(), index) == readers.end()) {
      readers.push_back(index);
    }
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const ValueId id : nodes[i].inputs) add(id, i);
  }
  for (const auto& [node, captured] : captured_values(*this)) {
    for (const ValueId id : captured) add(id, node);
  }
  for (std::vector<int32_t>& readers : result) std::sort(readers.begin(), readers.end());
  return result;
}

bool Graph::is_input(ValueId id) const {
  return std::find(inputs.begin(), inputs.end(), id) != inputs.end();
}

bool Graph::is_output(ValueId id) const {
  return std::find(outputs.begin(), outputs.end(), id) != outputs.end();
}

std::vector<std::string> Graph::captures() const {
  std::set<std::string> names;
  collect_captures(*this, names);
  return {names.begin(), names.end()};
}

bool Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return true;
  for (Node& node : nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  const std::string from_name = value(from).name;
  const std::string to_name = value(to).name;
  rename_captures(*this, from_name, to_name);
  if (!is_output(from)) return true;
  if (is_input(from) || is_input(to) || is_output(to) || value(to).captured) return false;
  value(from).name = unique_name(from_name);
  value(to).name = from_name;
  rename_captures(*this, to_name, from_name);
  std::replace(outputs.begin(), outputs.end(), from, to);
  return true;
}

void Graph::sort() {
  const std::vector<int32_t> producer = producers();
  std::vector<std::vector<size_t>> followers(nodes.size());
  std::vector<size_t> waiting(nodes.size(), 0);
  const auto depend = [&](size_t node, ValueId id) {
    if (id == kNoValue || producer[static_cast<size_t>(id)] < 0) return;
    followers[static_cast<size_t>(producer[static_cast<size_t>(id)])].push_back(node);
    ++waiting[node];
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const ValueId id : nodes[i].inputs) depend(i, id);
  }
  for (const auto& [node, captured] : captured_values(*this)) {
    for (const ValueId id : captured) depend(node, id);
  }

  // The earliest ready node goes first, so that what is in order stays as it is.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const size_t follower : followers[next]) {
      if (--waiting[follower] == 0) ready.push(follower);
    }
  }
  if (order.size() != nodes.size()) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (waiting[i] != 0) {
        throw UserError("node " + describe(nodes[i]) + " depends on its own output (cycle)");
      }
    }
  }
  std::vector<Node> sorted;
  sorted.reserve(nodes.size());
  for (const size_t i : order) sorted.push_back(std::move(nodes[i]));
  nodes = std::move(sorted);
}

void Graph::compact() {
  std::vector<char> used(values_.size(), 0);
  const auto mark = [&used](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != kNoValue) used.at(static_cast<size_t>(id)) = 1;
    }
  };
  mark(inputs);
  mark(outputs);
  for (const Node& node : nodes) {
    mark(node.inputs);
    mark(node.outputs);
  }
  for (const auto& [node, captured] : captured_values(*this)) mark(captured);

  std::vector<ValueId> renumbered(values_.size(), kNoValue);
  std::vector<Value> kept;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = static_cast<ValueId>(kept.size());
    kept.push_back(std::move(values_[i]));
  }
  values_ = std::move(kept);
  const auto renumber = [&renumbered](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id != kNoValue) id = renumbered[static_cast<size_t>(id)];
    }
  };
  renumber(inputs);
  renumber(outputs);
  for (Node& node : nodes) {
    renumber(node.inputs);
    renumber(node.outputs);
  }
}

int64_t Model::opset() const {
  const auto found = opsets.find("");
  return found == opsets.end() ? 1 : found->second;
}

const Function* Model::find_function(const std::string& domain, const std::string& name) const {
  for (const Function& function : functions) {
    if (function.domain == domain && function.name == name) return &function;
  }
  return nullptr;
}

}  // namespace opsmith::graph
