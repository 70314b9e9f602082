#include "graph/graph.h"
#include "support/error.h"

namespace opsmith::graph {
namespace {

/// The attribute as a T; nullptr where there is none. Throws UserError when it is something else.
template <typename T>
const T* attribute_of(const Node& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  if (!value) {
    throw UserError("attribute '" + name + "' of node " + describe(node) +
                    " is not of the type that the operator asks for");
  }
  return value;
}

}  // namespace

int64_t Node::integer(const std::string& attribute, int64_t fallback) const {
  const auto* value = attribute_of<int64_t>(*this, attribute);
  return value ? *value : fallback;
}

float Node::real(const std::string& attribute, float fallback) const {
  const auto* value = attribute_of<float>(*this, attribute);
  return value ? *value : fallback;
}

std::string Node::text(const std::string& attribute, const std::string& fallback) const {
  const auto* value = attribute_of<std::string>(*this, attribute);
  return value ? *value : fallback;
}

std::vector<int64_t> Node::integers(const std::string& attribute,
                                    const std::vector<int64_t>& fallback) const {
  const auto* value = attribute_of<std::vector<int64_t>>(*this, attribute);
  return value ? *value : fallback;
}

const Tensor* Node::tensor(const std::string& attribute) const {
  return attribute_of<Tensor>(*this, attribute);
}

std::string describe(const Node& node) {
  const std::string type = node.domain.empty() ? node.type : node.domain + "." + node.type;
  return node.name.empty() ? type + " (unnamed)" : type + " '" + node.name + "'";
}

void for_each_subgraph(const Node& node, const std::function<void(const Graph&)>& visit) {
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* one = std::get_if<std::shared_ptr<Graph>>(&attribute)) {
      if (*one) visit(**one);
    } else if (const auto* many = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute)) {
      for (const std::shared_ptr<Graph>& graph : *many) visit(*graph);
    }
  }
}

void for_each_subgraph(Node& node, const std::function<void(Graph&)>& visit) {
  const auto change = [&visit](std::shared_ptr<Graph>& graph) {
    if (graph.use_count() > 1) graph = std::make_shared<Graph>(*graph);
    visit(*graph);
  };
  for (auto& [name, attribute] : node.attributes) {
    if (auto* one = std::get_if<std::shared_ptr<Graph>>(&attribute)) {
      if (*one) change(*one);
    } else if (auto* many = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute)) {
      for (std::shared_ptr<Graph>& graph : *many) change(graph);
    }
  }
}

bool has_subgraphs(const Node& node) {
  bool any = false;
  for_each_subgraph(node, [&any](const Graph&) { any = true; });
  return any;
}

}  // namespace opsmith::graph
