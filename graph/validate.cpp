#include "graph/validate.h"

#include <unordered_set>

#include "support/error.h"

namespace opsmith::graph {
namespace {

using Names = std::unordered_set<std::string>;

void check_graph(const Graph& graph, const Names& outer, const std::string& where) {
  const auto at = [&](const std::string& what) { return where + ": " + what; };
  const auto check_id = [&](ValueId id) {
    require(id >= 0 && static_cast<size_t>(id) < graph.value_count(), at("a value id is wrong"));
  };
  std::vector<char> ready(graph.value_count(), 0);
  Names names = outer;
  Names own;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value(static_cast<ValueId>(i));
    require(!value.name.empty(), at("a value has no name"));
    require(own.insert(value.name).second, at("two values are named '" + value.name + "'"));
    names.insert(value.name);
    const bool constant = value.constant || value.opaque_constant;
    require(!constant || !value.captured, at("'" + value.name + "' is captured and constant"));
    require(!value.captured || outer.count(value.name),
            at("'" + value.name + "' captures nothing"));
    if (value.constant) {
      require(value.constant->defined() && value.constant->type() == value.type,
              at("the type of constant '" + value.name + "' is not that of its tensor"));
    }
    ready[i] = constant || value.captured;
  }
  for (const ValueId id : graph.inputs) {
    check_id(id);
    require(!ready[static_cast<size_t>(id)]++,
            at("input '" + graph.value(id).name + "' has another source"));
  }
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      check_id(id);
      require(ready[static_cast<size_t>(id)], at("node " + describe(node) + " reads '" +
                                                 graph.value(id).name + "' before it is made"));
    }
    for_each_subgraph(node, [&](const Graph& nested) {
      check_graph(nested, names, at("body of " + describe(node)));
    });
    for (const ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      check_id(id);
      require(!ready[static_cast<size_t>(id)]++,
              at("'" + graph.value(id).name + "' has a second source, " + describe(node)));
    }
  }
  for (const ValueId id : graph.outputs) {
    check_id(id);
    require(ready[static_cast<size_t>(id)],
            at("output '" + graph.value(id).name + "' has no source"));
  }
}

}  // namespace

void validate(const Model& model) {
  check_graph(model.graph, {}, "graph");
  for (const Function& function : model.functions) {
    check_graph(function.body, {}, "function '" + function.name + "'");
  }
}

}  // namespace opsmith::graph
