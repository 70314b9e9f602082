#include "graph/function.h"

#include <algorithm>
#include <set>

#include "graph/operators/versions.h"
#include "support/error.h"

namespace opsmith::graph {
namespace {

void resolve_references(Graph& body, const Function& function, const Node& call) {
  for (Node& node : body.nodes) {
    for (auto it = node.attributes.begin(); it != node.attributes.end();) {
      const auto* reference = std::get_if<AttributeReference>(&it->second);
      if (!reference) {
        ++it;
        continue;
      }
      const std::string name = reference->name;
      if (const auto given = call.attributes.find(name); given != call.attributes.end()) {
        it->second = given->second;
        ++it;
      } else if (const auto usual = function.defaults.find(name);
                 usual != function.defaults.end()) {
        it->second = usual->second;
        ++it;
      } else {
        it = node.attributes.erase(it);
      }
    }
    if (!has_subgraphs(node)) continue;
    for_each_subgraph(node, [&](Graph& nested) { resolve_references(nested, function, call); });
  }
}

/// Renames what the subgraphs of `node` capture, all names at once.
void rename_captures(Graph& subgraph, const std::map<std::string, std::string>& names) {
  std::map<std::string, std::string> inner = names;
  for (size_t i = 0; i < subgraph.value_count(); ++i) {
    Value& value = subgraph.value(static_cast<ValueId>(i));
    const auto found = names.find(value.name);
    if (found == names.end()) continue;
    if (value.captured) {
      value.name = found->second;
    } else {
      inner.erase(value.name);  // a value of its own hides the outer one
    }
  }
  for (Node& node : subgraph.nodes) {
    if (!has_subgraphs(node)) continue;
    for_each_subgraph(node, [&](Graph& nested) { rename_captures(nested, inner); });
  }
}

/// Notes at the nodes of a body which version of the operators decides what they mean, where that
/// is not what the model's version says.
void mark_opset(Graph& body, int64_t version, int64_t model_version) {
  for (Node& node : body.nodes) {
    if (node.domain.empty() && node.opset == 0 &&
        !same_meaning(node.type, version, model_version)) {
      node.opset = version;
    }
    if (!has_subgraphs(node)) continue;
    for_each_subgraph(node, [&](Graph& nested) { mark_opset(nested, version, model_version); });
  }
}

int inline_into(Graph& graph, const Model& model) {
  int count = 0;
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<Node> nodes;
    std::vector<Node> before = std::move(graph.nodes);
    graph.nodes.clear();
    for (Node& node : before) {
      const Function* function = model.find_function(node.domain, node.type);
      if (!function) {
        nodes.push_back(std::move(node));
        continue;
      }
      splice_body(graph, nodes, instantiate_body(*function, node), node);
      changed = true;
      ++count;
    }
    graph.nodes = std::move(nodes);
  }
  for (Node& node : graph.nodes) {
    if (!has_subgraphs(node)) continue;
    for_each_subgraph(node, [&](Graph& subgraph) { count += inline_into(subgraph, model); });
  }
  return count;
}

void collect_domains(const Graph& graph, std::set<std::string>& domains) {
  for (const Node& node : graph.nodes) {
    domains.insert(node.domain);
    for_each_subgraph(node, [&](const Graph& nested) { collect_domains(nested, domains); });
  }
}

using FunctionSet = std::set<const Function*>;

void collect_called(const Graph& graph, const Model& model, FunctionSet& called) {
  for (const Node& node : graph.nodes) {
    if (const Function* function = model.find_function(node.domain, node.type)) {
      called.insert(function);
    }
    for_each_subgraph(node, [&](const Graph& nested) { collect_called(nested, model, called); });
  }
}

void check_from(const Function& function, const Model& model, FunctionSet& open,
                FunctionSet& done) {
  if (done.count(&function)) return;
  if (!open.insert(&function).second) {
    throw UserError("function '" + function.name + "' of domain '" + function.domain +
                    "' calls itself");
  }
  FunctionSet called;
  collect_called(function.body, model, called);
  for (const Function* next : called) check_from(*next, model, open, done);
  open.erase(&function);
  done.insert(&function);
}

}  // namespace

void splice_body(Graph& graph, std::vector<Node>& nodes, const Graph& body, const Node& call) {
  std::string prefix = call.name;
  for (const ValueId id : call.outputs) {
    if (prefix.empty() && id != kNoValue) prefix = graph.value(id).name;
  }
  prefix += "/";
  std::vector<ValueId> ids(body.value_count(), kNoValue);
  const auto bind = [&ids](ValueId inner, ValueId outer) {
    ids[static_cast<size_t>(inner)] = outer;
  };
  for (size_t i = 0; i < body.inputs.size(); ++i) bind(body.inputs[i], call.input(i));
  for (size_t i = 0; i < body.value_count(); ++i) {
    const Value& value = body.value(static_cast<ValueId>(i));
    if (!value.captured) continue;
    const std::optional<ValueId> outer = graph.find(value.name);
    ids[i] = outer ? *outer : graph.add_value(value);  // captured from further out
  }
  std::vector<std::pair<ValueId, ValueId>> copies;  // outputs that the body does not make itself
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    const ValueId inner = body.outputs[i];
    const ValueId outer = call.output(i);
    if (outer == kNoValue) continue;
    const bool bound = ids[static_cast<size_t>(inner)] != kNoValue || body.is_input(inner);
    if (bound || body.constant(inner)) {
      copies.emplace_back(inner, outer);
    } else {
      bind(inner, outer);
    }
  }
  std::map<std::string, std::string> names;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto inner = static_cast<ValueId>(i);
    const Value& value = body.value(inner);
    if (ids[i] == kNoValue && !body.is_input(inner)) {
      Value copy = value;
      copy.name = graph.unique_name(prefix + value.name);
      ids[i] = graph.add_value(std::move(copy));
    }
    if (ids[i] != kNoValue) names[value.name] = graph.value(ids[i]).name;
  }
  const auto translate = [&ids](std::vector<ValueId>& values) {
    for (ValueId& id : values) {
      if (id != kNoValue) id = ids[static_cast<size_t>(id)];
    }
    while (!values.empty() && values.back() == kNoValue) values.pop_back();
  };
  for (size_t i = 0; i < body.nodes.size(); ++i) {
    const Node& original = body.nodes[i];
    Node node = original;
    node.name =
        prefix + (original.name.empty() ? original.type + "_" + std::to_string(i) : original.name);
    translate(node.inputs);
    translate(node.outputs);
    if (has_subgraphs(node)) {
      for_each_subgraph(node, [&](Graph& nested) { rename_captures(nested, names); });
    }
    nodes.push_back(std::move(node));
  }
  for (const auto& [inner, outer] : copies) {
    Node identity;
    identity.name = prefix + "Identity";
    identity.type = "Identity";
    identity.inputs = {ids[static_cast<size_t>(inner)]};
    identity.outputs = {outer};
    nodes.push_back(std::move(identity));
  }
}

Graph instantiate_body(const Function& function, const Node& call) {
  Graph body = function.body;
  resolve_references(body, function, call);
  return body;
}

int inline_functions(Model& model) {
  check_no_recursion(model);
  for (Function& function : model.functions) {
    for (const auto& [domain, version] : function.opsets) {
      const int64_t own = model.opsets.emplace(domain, version).first->second;
      if (own == version) continue;
      if (domain.empty()) {
        mark_opset(function.body, version, own);
        continue;
      }
      throw Unsupported("function '" + function.name + "' is written for version " +
                        std::to_string(version) + " of the operators '" + domain +
                        "' and its model for another: it cannot be inlined");
    }
  }
  const int count = inline_into(model.graph, model);
  std::set<std::string> used;
  collect_domains(model.graph, used);
  for (const Function& function : model.functions) {
    if (!used.count(function.domain)) model.opsets.erase(function.domain);
  }
  model.functions.clear();
  return count;
}

void check_no_recursion(const Model& model) {
  FunctionSet open, done;
  for (const Function& function : model.functions) check_from(function, model, open, done);
}

}  // namespace opsmith::graph
