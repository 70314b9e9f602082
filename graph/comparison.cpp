#include "graph/comparison.h"

#include <algorithm>

namespace opsmith::graph {
namespace {

std::string graph_difference(const Graph& a, const Graph& b);

std::string name_of(const Graph& graph, ValueId id) {
  return id == kNoValue ? std::string() : graph.value(id).name;
}

bool same_names(const Graph& a, const std::vector<ValueId>& left, const Graph& b,
                const std::vector<ValueId>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [&](ValueId l, ValueId r) { return name_of(a, l) == name_of(b, r); });
}

struct AttributeDifference {
  template <typename A, typename B>
  bool operator()(const A&, const B&) const {
    return true;
  }
  template <typename A>
  bool operator()(const A& a, const A& b) const {
    return !(a == b);
  }
  bool operator()(const Tensor& a, const Tensor& b) const { return !identical(a, b); }
  bool operator()(const std::vector<Tensor>& a, const std::vector<Tensor>& b) const {
    return !std::equal(a.begin(), a.end(), b.begin(), b.end(), identical);
  }
  bool operator()(const std::shared_ptr<Graph>& a, const std::shared_ptr<Graph>& b) const {
    return !graph_difference(*a, *b).empty();
  }
  bool operator()(const std::vector<std::shared_ptr<Graph>>& a,
                  const std::vector<std::shared_ptr<Graph>>& b) const {
    return !std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& l, const auto& r) {
      return graph_difference(*l, *r).empty();
    });
  }
  bool operator()(const OpaqueAttribute& a, const OpaqueAttribute& b) const {
    return a.bytes != b.bytes;
  }
  bool operator()(const AttributeReference& a, const AttributeReference& b) const {
    return a.name != b.name || a.type != b.type;
  }
};

std::string attribute_difference(const std::map<std::string, Attribute>& a,
                                 const std::map<std::string, Attribute>& b) {
  for (const auto& [name, attribute] : a) {
    const auto other = b.find(name);
    if (other == b.end()) return "attribute '" + name + "' is only in the first";
    if (std::visit(AttributeDifference{}, attribute, other->second)) {
      return "attribute '" + name + "' differs";
    }
  }
  return a.size() == b.size() ? "" : "the second has more attributes";
}

std::string value_difference(const Value& a, const Value& b) {
  const std::string what = "value '" + a.name + "'";
  if (a.type != b.type) return what + " differs in type";
  if (a.shape != b.shape) return what + " differs in shape";
  if (a.documentation != b.documentation) return what + " differs in its documentation";
  if (a.captured != b.captured) return what + " is captured in one only";
  if (a.opaque_type != b.opaque_type) return what + " differs in its own type";
  if (a.constant.has_value() != b.constant.has_value()) return what + " is constant in one only";
  if (a.constant && !identical(*a.constant, *b.constant)) return what + " differs in elements";
  if (!a.opaque_constant != !b.opaque_constant ||
      (a.opaque_constant && *a.opaque_constant != *b.opaque_constant)) {
    return what + " differs in its serialized constant";
  }
  return "";
}

std::string graph_difference(const Graph& a, const Graph& b) {
  if (!same_names(a, a.inputs, b, b.inputs)) return "the inputs differ";
  if (!same_names(a, a.outputs, b, b.outputs)) return "the outputs differ";
  if (a.nodes.size() != b.nodes.size()) return "the numbers of nodes differ";
  const auto compare_values = [&](const std::vector<ValueId>& left,
                                  const std::vector<ValueId>& right) -> std::string {
    for (size_t i = 0; i < left.size(); ++i) {
      if (left[i] == kNoValue) continue;
      const std::string found = value_difference(a.value(left[i]), b.value(right[i]));
      if (!found.empty()) return found;
    }
    return "";
  };
  std::string found = compare_values(a.inputs, b.inputs);
  if (found.empty()) found = compare_values(a.outputs, b.outputs);
  for (size_t i = 0; i < a.nodes.size() && found.empty(); ++i) {
    const Node& left = a.nodes[i];
    const Node& right = b.nodes[i];
    const std::string what = "node " + describe(left) + ": ";
    if (left.name != right.name || left.type != right.type || left.domain != right.domain) {
      return what + "the other is " + describe(right);
    }
    if (!same_names(a, left.inputs, b, right.inputs)) return what + "inputs differ";
    if (!same_names(a, left.outputs, b, right.outputs)) return what + "outputs differ";
    if (left.documentation != right.documentation) return what + "the documentation differs";
    if (left.opset != right.opset) return what + "the versions of the operator differ";
    found = attribute_difference(left.attributes, right.attributes);
    if (found.empty()) found = compare_values(left.inputs, right.inputs);
    if (found.empty()) found = compare_values(left.outputs, right.outputs);
    if (!found.empty()) found = what + found;
  }
  return found;
}

}  // namespace

std::string difference(const Model& a, const Model& b) {
  if (a.opsets != b.opsets) return "the operator set versions differ";
  if (a.metadata != b.metadata) return "the metadata differ";
  if (a.documentation != b.documentation) return "the documentation differs";
  if (a.functions.size() != b.functions.size()) return "the numbers of functions differ";
  for (size_t i = 0; i < a.functions.size(); ++i) {
    const Function& left = a.functions[i];
    const Function& right = b.functions[i];
    const std::string what = "function '" + left.name + "': ";
    if (left.name != right.name || left.domain != right.domain) return what + "another name";
    if (left.attributes != right.attributes || left.opsets != right.opsets) {
      return what + "its attributes or operator sets differ";
    }
    std::string found = attribute_difference(left.defaults, right.defaults);
    if (found.empty()) found = graph_difference(left.body, right.body);
    if (!found.empty()) return what + found;
  }
  return graph_difference(a.graph, b.graph);
}

}  // namespace opsmith::graph
