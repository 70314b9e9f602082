#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"
#include "support/hash.h"

namespace opsmith::graph {
namespace {

/// Bytes of a large tensor that stand for it in the first comparison.
constexpr size_t kSample = 512;

std::string tensor_key(const Tensor& tensor) {
  Hasher hasher;
  hasher.number(static_cast<int64_t>(tensor.type()));
  for (const int64_t size : tensor.shape()) hasher.number(size);
  if (tensor.type() == ElementType::String) {
    for (const std::string& text : tensor.strings()) hasher.text(text);
  } else {
    const char* bytes = static_cast<const char*>(tensor.raw());
    const size_t head = std::min(tensor.bytes(), kSample);
    hasher.bytes(bytes, head);
    hasher.bytes(bytes + tensor.bytes() - head, head);
  }
  return hasher.hex();
}

int merge_constants(Graph& graph) {
  int changes = 0;
  std::map<std::string, std::vector<ValueId>> seen;
  const std::vector<std::vector<int32_t>> consumers = graph.consumers();
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Tensor* tensor = graph.constant(id);
    if (!tensor || consumers[i].empty() || graph.is_output(id)) continue;
    std::vector<ValueId>& alike = seen[tensor_key(*tensor)];
    const auto twin = std::find_if(alike.begin(), alike.end(), [&](ValueId other) {
      return identical(*graph.constant(other), *tensor);
    });
    if (twin == alike.end()) {
      alike.push_back(id);
    } else if (redirect(graph, id, *twin)) {
      ++changes;
    }
  }
  return changes;
}

struct HashAttribute {
  Hasher& hasher;
  bool& comparable;

  void operator()(int64_t value) const { hasher.number(value); }
  void operator()(float value) const { hasher.bytes(&value, sizeof value); }
  void operator()(const std::string& value) const { hasher.text(value); }
  void operator()(const std::vector<int64_t>& values) const {
    hasher.number(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) hasher.number(value);
  }
  void operator()(const std::vector<float>& values) const {
    hasher.number(static_cast<int64_t>(values.size()));
    hasher.bytes(values.data(), values.size() * sizeof(float));
  }
  void operator()(const std::vector<std::string>& values) const {
    hasher.number(static_cast<int64_t>(values.size()));
    for (const std::string& value : values) hasher.text(value);
  }
  template <typename Other>
  void operator()(const Other&) const {
    comparable = false;  // tensors, graphs and what we do not interpret
  }
};

/// 128 bits that stand for what the node computes; nullopt where nodes are not compared.
std::optional<std::string> node_key(const Node& node) {
  if (is_random(node)) return std::nullopt;
  Hasher hasher;
  bool comparable = true;
  hasher.text(node.domain).text(node.type);
  hasher.number(static_cast<int64_t>(node.outputs.size()));
  for (const ValueId id : node.inputs) hasher.number(id);
  for (const auto& [name, attribute] : node.attributes) {
    hasher.text(name).number(static_cast<int64_t>(attribute.index()));
    std::visit(HashAttribute{hasher, comparable}, attribute);
  }
  return comparable ? std::optional(hasher.hex()) : std::nullopt;
}

int merge_nodes(Graph& graph) {
  int changes = 0;
  std::map<std::string, size_t> seen;
  std::vector<char> dead(graph.nodes.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::optional<std::string> key = node_key(graph.nodes[i]);
    if (!key) continue;
    const auto [first, fresh] = seen.emplace(*key, i);
    if (fresh) continue;
    const std::vector<ValueId> kept = graph.nodes[first->second].outputs;
    const std::vector<ValueId> gone = graph.nodes[i].outputs;
    bool possible = true;
    for (size_t k = 0; k < gone.size(); ++k) {
      const bool absent = gone[k] == kNoValue || kept[k] == kNoValue;
      possible = possible && !absent && !(graph.is_output(gone[k]) && graph.is_output(kept[k]));
    }
    if (!possible) continue;
    for (size_t k = 0; k < gone.size(); ++k) redirect(graph, gone[k], kept[k]);
    dead[i] = 1;
    ++changes;
  }
  erase_nodes(graph, dead);
  return changes;
}

}  // namespace

// before:  x -> Shape -> a,  x -> Shape -> b;  constants c and d with equal elements
// after:   x -> Shape -> a, read by the readers of b too;  one constant
//
// Not: random operators, nodes with tensors or graphs among their attributes.
int merge_duplicates(Model& model, const PassContext&) {
  return for_each_graph(model,
                        [](Graph& graph) { return merge_constants(graph) + merge_nodes(graph); });
}

}  // namespace opsmith::graph
