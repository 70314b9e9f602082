#pragma once

#include <string>
#include <variant>
#include <vector>

#include "runtime/expression/program.h"
#include "substitute/operator/region.h"

namespace opsmith::substitute {

/// Element-wise functions of a map node: of one tensor, or of two.
enum class MapFunction : uint8_t {
  Relu,
  Absolute,
  Exp,
  Sin,
  Tanh,
  Sigmoid,
  Negate,
  Add,
  Subtract,
  Multiply,
  Minimum,
  Maximum,
};
bool is_binary(MapFunction function);
std::string to_string(MapFunction function);

/// Element-wise. Of two operands the first is broadcast to the shape of the second (Canvas,
/// section 5): between the dimensions that both have in front and at the end, the first is
/// repeated as often as it fits. Those middle dimensions are compared by their total size only.
struct Map {
  MapFunction function = MapFunction::Relu;
  std::vector<std::string> operands;
  bool operator==(const Map&) const = default;
};

/// Softmax over some dimensions.
struct Normalize {
  std::string operand;
  std::vector<int64_t> dimensions;
  bool operator==(const Normalize&) const = default;
};

/// Average or maximum over some dimensions, which disappear.
struct Fold {
  enum class Kind : uint8_t { Average, Maximum };
  Kind kind = Kind::Average;
  std::string operand;
  std::vector<int64_t> dimensions;
  bool operator==(const Fold&) const = default;
};

/// A node of the value graph; its name is the name of the tensor that it makes.
struct ValueNode {
  std::string name;
  std::variant<Region, Map, Normalize, Fold> operation;
  bool operator==(const ValueNode&) const = default;
};

/// A synthesized operator over symbolic sizes (level A of the algebra, after Canvas): a small
/// graph of tensors whose last node is the output. `sizes` fixes some of the size variables.
class ValueGraph {
 public:
  struct Input {
    std::string name;
    std::vector<Size> shape;
    bool operator==(const Input&) const = default;
  };

  std::string name;
  std::vector<Input> inputs;
  std::vector<ValueNode> nodes;
  expression::Binding sizes;

  const std::string& output() const { return nodes.back().name; }
  /// Symbolic shape of an input or a node. Throws UserError when there is none of that name.
  std::vector<Size> shape_of(const std::string& tensor) const;
  /// Names of all weights in order of appearance.
  std::vector<std::string> weights() const;
  /// Every size in the graph: extents of coordinates, blocks and strides.
  std::vector<Size> all_sizes() const;

  bool operator==(const ValueGraph&) const = default;
};

/// Throws UserError naming the node and its first fault: see `validate` of a region; a region
/// whose coordinates do not have the extents of the tensor that they stand in; operands that
/// cannot be broadcast; a tensor used before it is made.
void validate(const ValueGraph& graph);

/// The program of the operator: one stage per map, fold or region, four per normalization, the
/// last named as the graph's output. Size variables are replaced by `values`, which the graph's
/// own `sizes` extend. Regions with several weights are factored into the stages with the fewest
/// multiply-accumulates at `typical` values of the symbols that stay open.
expression::Program lower(const ValueGraph& graph, const SizeValues& values,
                          const expression::Binding& typical);

/// Throws UserError naming a size that is not a whole number when the symbols have their `fixed`
/// values, or that need not be one because a symbol in it is not fixed.
void require_whole_sizes(const ValueGraph& graph, const SizeValues& values,
                         const expression::Binding& fixed);

/// The text form (docs/operators.md); parse_operator(print(g)) == g. Parsing validates and throws
/// UserError with line and column.
std::string print(const ValueGraph& graph);
ValueGraph parse_operator(const std::string& text);

}  // namespace opsmith::substitute
