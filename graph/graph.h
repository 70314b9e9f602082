#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/tensor.h"

namespace opsmith::graph {

class Graph;

/// One extent of a value: a number, a named symbol ("N", "DynamicDimension.0") or unknown.
struct Dimension {
  std::optional<int64_t> size;
  std::string symbol;  ///< empty when the size is known or nothing is known

  Dimension() = default;
  Dimension(int64_t known) : size(known) {}  // NOLINT: a number is a dimension
  static Dimension named(std::string symbol_name) {
    Dimension dimension;
    dimension.symbol = std::move(symbol_name);
    return dimension;
  }
  bool known() const { return size.has_value(); }
  bool operator==(const Dimension&) const = default;
};

using SymbolicShape = std::vector<Dimension>;

std::string to_string(const SymbolicShape& shape);
/// The shape as numbers when every dimension is known.
std::optional<Shape> concrete(const SymbolicShape& shape);

/// Index of a value in its graph.
using ValueId = int32_t;
/// An optional input or output that is not there.
inline constexpr ValueId kNoValue = -1;

/// A tensor that flows through a graph. Exactly one of these holds: it is a graph input, a
/// constant, the output of a node, or captured by name from the enclosing graph.
struct Value {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::optional<SymbolicShape> shape;  ///< nullopt: not even the rank is known
  std::optional<Tensor> constant;      ///< shared, never copied by passes
  bool captured = false;               ///< defined in the graph around this subgraph
  std::string documentation;
  /// What opsmith does not interpret, kept for the export: the serialized ONNX TypeProto of a
  /// value that is no tensor (of a sequence or optional it says what it holds) or has an element
  /// type of its own (complex), and the serialized TensorProto of a constant of such a type.
  std::string opaque_type;
  std::shared_ptr<const std::string> opaque_constant;
};

/// An attribute that opsmith does not interpret, kept as the serialized ONNX AttributeProto.
struct OpaqueAttribute {
  std::string bytes;
};

/// In the body of a function: the attribute `name` of the node that calls the function.
struct AttributeReference {
  std::string name;
  int32_t type = 0;  ///< number of AttributeProto.AttributeType, for the export
};

using Attribute =
    std::variant<int64_t, float, std::string, Tensor, std::shared_ptr<Graph>, std::vector<int64_t>,
                 std::vector<float>, std::vector<std::string>, std::vector<Tensor>,
                 std::vector<std::shared_ptr<Graph>>, OpaqueAttribute, AttributeReference>;

/// One operation. The domain of ONNX's own operators is "".
struct Node {
  std::string name;
  std::string domain;
  std::string type;  ///< "Conv"
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::map<std::string, Attribute> attributes;
  std::string documentation;
  /// Version of ONNX's operators that the node is written for; 0: the model's. Others come from
  /// inlined functions that were written for another version.
  int64_t opset = 0;

  bool is(const std::string& op_type) const { return domain.empty() && type == op_type; }
  ValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : kNoValue; }
  ValueId output(size_t i) const { return i < outputs.size() ? outputs[i] : kNoValue; }

  bool has(const std::string& attribute) const { return attributes.count(attribute) != 0; }

  /// The attribute, or `fallback` where the node has none. Throws UserError naming the node when
  /// it is of another type.
  int64_t integer(const std::string& attribute, int64_t fallback) const;
  float real(const std::string& attribute, float fallback) const;
  std::string text(const std::string& attribute, const std::string& fallback) const;
  std::vector<int64_t> integers(const std::string& attribute,
                                const std::vector<int64_t>& fallback = {}) const;
  /// nullptr where there is none.
  const Tensor* tensor(const std::string& attribute) const;
};

/// "Conv 'conv1'", with the domain where it is not ONNX's own: how messages name a node.
std::string describe(const Node& node);

/// Visits the graphs among the attributes of a node (the branches of an If, the body of a Loop).
/// The second form lets `visit` change them: a graph that copies of the node share is copied first.
void for_each_subgraph(const Node& node, const std::function<void(const Graph&)>& visit);
void for_each_subgraph(Node& node, const std::function<void(Graph&)>& visit);
bool has_subgraphs(const Node& node);

/// Values and nodes; nodes stand in topological order. Values are never renumbered by edits;
/// `compact` drops the unused ones.
class Graph {
 public:
  std::string name;
  std::string documentation;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  ValueId add_value(Value value);
  /// A value with a fresh name that begins with `hint`.
  ValueId add_unnamed(const std::string& hint, ElementType type = ElementType::Undefined,
                      std::optional<SymbolicShape> shape = std::nullopt);
  ValueId add_constant(const std::string& hint, Tensor tensor);
  /// Appends a node and returns its first output (further outputs are in nodes.back()).
  ValueId add_node(const std::string& type, std::vector<ValueId> node_inputs,
                   std::map<std::string, Attribute> attributes = {}, size_t output_count = 1,
                   const std::string& domain = "", const std::string& node_name = "");

  const Value& value(ValueId id) const { return values_.at(static_cast<size_t>(id)); }
  Value& value(ValueId id) { return values_.at(static_cast<size_t>(id)); }
  size_t value_count() const { return values_.size(); }
  std::optional<ValueId> find(const std::string& value_name) const;
  /// A name that no value has, beginning with `hint`.
  std::string unique_name(const std::string& hint) const;

  /// nullptr when the value is not a constant.
  const Tensor* constant(ValueId id) const;

  /// For each value the index of the node that makes it, -1 if none. O(nodes); compute once.
  std::vector<int32_t> producers() const;
  /// For each value the indices of the nodes that read it (subgraph captures included).
  std::vector<std::vector<int32_t>> consumers() const;

  /// Makes every reader of `from`, the graph outputs included, read `to`. If `from` is a graph
  /// output its name moves to `to` (names of inputs and outputs are kept, always). Where that
  /// cannot be, because `to` is an input, an output or captured itself, the graph output goes on
  /// reading `from`, and the answer is false.
  bool replace_uses(ValueId from, ValueId to);
  bool is_input(ValueId id) const;
  bool is_output(ValueId id) const;

  /// Names that this graph, as the body of a node, takes from the graphs around it, those of
  /// nested subgraphs included; sorted.
  std::vector<std::string> captures() const;

  /// Orders nodes topologically. Throws UserError naming a node on a cycle.
  void sort();
  /// Drops values that nothing refers to and renumbers the rest.
  void compact();

 private:
  std::vector<Value> values_;
};

/// A function of the model: an operator defined by a body of other operators.
struct Function {
  std::string domain;
  std::string name;
  std::vector<std::string> attributes;
  std::map<std::string, int64_t> opsets;
  std::string documentation;
  Graph body;
  std::map<std::string, Attribute> defaults;  ///< of attributes that a call need not give
};

struct Model {
  Graph graph;
  std::map<std::string, int64_t> opsets;  ///< domain to version; "" is ONNX's own
  std::vector<Function> functions;
  int64_t ir_version = 8;
  std::string producer;
  std::string producer_version;
  std::string documentation;
  std::map<std::string, std::string> metadata;
  std::string source;  ///< the file it came from, for messages

  int64_t opset() const;  ///< of ONNX's own operators; 1 where the model imports none
  /// The version of ONNX's operators that decides what `node` means.
  int64_t opset_of(const Node& node) const { return node.opset != 0 ? node.opset : opset(); }
  const Function* find_function(const std::string& domain, const std::string& name) const;
};

}  // namespace opsmith::graph
