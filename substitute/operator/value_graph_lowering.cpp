#include <algorithm>
#include <numeric>

#include "runtime/expression/factoring.h"
#include "substitute/operator/intermediate_order.h"
#include "substitute/operator/value_graph.h"
#include "support/error.h"

namespace opsmith::substitute {

using expression::Axis;
using expression::Index;
using expression::Program;
using expression::Reduction;
using expression::Scalar;
using expression::Stage;

namespace {

using Extents = std::vector<Index>;

/// Appends the stages of one node to a program.
class Lowering {
 public:
  Lowering(const ValueGraph& graph, const SizeValues& values, Program& program)
      : graph_(graph), values_(values), program_(program) {}

  void lower_node(const ValueNode& node) {
    std::visit([&](const auto& operation) { append(node.name, operation); }, node.operation);
  }

 private:
  void append(const std::string& name, const Region& region) {
    for (auto& declaration : lower_weights(region, values_))
      program_.weights.push_back(std::move(declaration));
    program_.stages.push_back(lower(region, name, values_));
  }

  void append(const std::string& name, const Map& map) {
    const std::vector<Size> shape = graph_.shape_of(map.operands.back());
    Stage stage = pointwise_stage(name, extents(shape));
    const Indices position = positions(stage.axes);
    if (is_binary(map.function)) {
      const std::vector<Size> left = graph_.shape_of(map.operands[0]);
      stage.body =
          apply(map.function, Scalar::read(map.operands[0], broadcast(left, shape, position)),
                Scalar::read(map.operands[1], position));
    } else {
      stage.body = apply(map.function, Scalar::read(map.operands[0], position));
    }
    program_.stages.push_back(std::move(stage));
  }

  /// max, exp(x - max), their sum, the quotient.
  void append(const std::string& name, const Normalize& normalize) {
    const Extents shape = extents(graph_.shape_of(normalize.operand));
    const std::string largest = name + "_max", power = name + "_exp", sum = name + "_sum";
    reduce(largest, normalize.operand, shape, normalize.dimensions, Reduction::Maximum);
    Stage shifted = pointwise_stage(power, shape);
    const Indices position = positions(shifted.axes);
    const Indices kept = rest(position, normalize.dimensions);
    shifted.body = Scalar::unary(expression::Unary::Exp, Scalar::read(normalize.operand, position) -
                                                             Scalar::read(largest, kept));
    program_.stages.push_back(std::move(shifted));
    reduce(sum, power, shape, normalize.dimensions, Reduction::Sum);
    Stage quotient = pointwise_stage(name, shape);
    quotient.body = Scalar::read(power, position) / Scalar::read(sum, kept);
    program_.stages.push_back(std::move(quotient));
  }

  void append(const std::string& name, const Fold& fold) {
    const Extents shape = extents(graph_.shape_of(fold.operand));
    const bool average = fold.kind == Fold::Kind::Average;
    reduce(name, fold.operand, shape, fold.dimensions,
           average ? Reduction::Sum : Reduction::Maximum);
    if (!average) return;
    Index count(1);
    for (const int64_t d : fold.dimensions) count = count * shape[static_cast<size_t>(d)];
    program_.stages.back().epilogue = Scalar::reduced() / Scalar::position(count);
  }

  using Indices = std::vector<Index>;

  void reduce(const std::string& name, const std::string& operand, const Extents& shape,
              const std::vector<int64_t>& dimensions, Reduction reduction) {
    const Stage whole = pointwise_stage(name, shape);
    Stage stage;
    stage.name = name;
    stage.reduction = reduction;
    for (size_t i = 0; i < shape.size(); ++i) {
      const bool reduced = std::find(dimensions.begin(), dimensions.end(),
                                     static_cast<int64_t>(i)) != dimensions.end();
      (reduced ? stage.reduction_axes : stage.axes).push_back(whole.axes[i]);
    }
    stage.body = Scalar::read(operand, positions(whole.axes));
    program_.stages.push_back(std::move(stage));
  }

  static Stage pointwise_stage(const std::string& name, const Extents& shape) {
    Stage stage;
    stage.name = name;
    for (size_t i = 0; i < shape.size(); ++i)
      stage.axes.push_back(Axis{"i" + std::to_string(i), shape[i]});
    return stage;
  }

  static Indices positions(const std::vector<Axis>& axes) {
    Indices indices;
    for (const Axis& axis : axes) indices.push_back(Index::iterator(axis.name));
    return indices;
  }

  static Indices rest(const Indices& position, const std::vector<int64_t>& dimensions) {
    Indices kept;
    for (size_t i = 0; i < position.size(); ++i)
      if (std::find(dimensions.begin(), dimensions.end(), static_cast<int64_t>(i)) ==
          dimensions.end())
        kept.push_back(position[i]);
    return kept;
  }

  /// Where in a tensor of shape `left` the element for `position` of a tensor of shape `right`
  /// lies. The unmatched middle is numbered row by row in both; the left one repeats.
  Indices broadcast(const std::vector<Size>& left, const std::vector<Size>& right,
                    const Indices& position) const {
    const size_t shorter = std::min(left.size(), right.size());
    size_t prefix = 0, suffix = 0;
    while (prefix < shorter && left[prefix] == right[prefix]) ++prefix;
    while (suffix < shorter - prefix &&
           left[left.size() - 1 - suffix] == right[right.size() - 1 - suffix])
      ++suffix;
    const auto total = [&](const std::vector<Size>& shape) {
      Size product;
      for (size_t i = prefix; i < shape.size() - suffix; ++i) product = product * shape[i];
      return product;
    };
    if (!divide(total(right), total(left)).has_value())
      throw UserError("a tensor of " + to_string(total(left)) + " elements cannot be repeated to " +
                      to_string(total(right)));
    (total(right) / total(left)).to_index(values_);  // complains when it is not whole
    Index flat(0);
    for (size_t i = prefix; i < right.size() - suffix; ++i)
      flat = flat * right[i].to_index(values_) + position[i];
    Indices indices(position.begin(), position.begin() + static_cast<std::ptrdiff_t>(prefix));
    Size below = total(left);
    flat = mod(flat, below.to_index(values_));
    for (size_t i = prefix; i < left.size() - suffix; ++i) {
      below = below / left[i];
      indices.push_back(mod(floor_div(flat, below.to_index(values_)), left[i].to_index(values_)));
    }
    indices.insert(indices.end(), position.end() - static_cast<std::ptrdiff_t>(suffix),
                   position.end());
    return indices;
  }

  static Scalar apply(MapFunction function, const Scalar& x) {
    const Scalar zero = Scalar::constant(0), one = Scalar::constant(1);
    switch (function) {
      case MapFunction::Relu:
        return maximum(x, zero);
      case MapFunction::Absolute:
        return Scalar::unary(expression::Unary::Absolute, x);
      case MapFunction::Exp:
        return Scalar::unary(expression::Unary::Exp, x);
      case MapFunction::Sin:
        return Scalar::unary(expression::Unary::Sin, x);
      case MapFunction::Tanh:
        return Scalar::unary(expression::Unary::Tanh, x);
      case MapFunction::Negate:
        return Scalar::unary(expression::Unary::Negate, x);
      case MapFunction::Sigmoid:
        return one / (one + Scalar::unary(expression::Unary::Exp,
                                          Scalar::unary(expression::Unary::Negate, x)));
      default:
        throw InternalError(to_string(function) + " takes two operands");
    }
  }

  static Scalar apply(MapFunction function, const Scalar& a, const Scalar& b) {
    switch (function) {
      case MapFunction::Add:
        return a + b;
      case MapFunction::Subtract:
        return a - b;
      case MapFunction::Multiply:
        return a * b;
      case MapFunction::Minimum:
        return minimum(a, b);
      case MapFunction::Maximum:
        return maximum(a, b);
      default:
        throw InternalError(to_string(function) + " takes one operand");
    }
  }

  Extents extents(const std::vector<Size>& shape) const {
    Extents result;
    for (const Size& size : shape) result.push_back(size.to_index(values_));
    return result;
  }

  const ValueGraph& graph_;
  const SizeValues& values_;
  Program& program_;
};

}  // namespace

Program lower(const ValueGraph& graph, const SizeValues& values,
              const expression::Binding& typical) {
  validate(graph);
  SizeValues all = values;
  for (const auto& [name, value] : graph.sizes) all.insert_or_assign(name, Index(value));
  Program program;
  program.name = graph.name;
  for (const ValueGraph::Input& input : graph.inputs) {
    expression::TensorDeclaration declaration;
    declaration.name = input.name;
    for (const Size& size : input.shape) declaration.shape.push_back(size.to_index(all));
    program.inputs.push_back(std::move(declaration));
  }
  Lowering lowering(graph, all, program);
  for (const ValueNode& node : graph.nodes) lowering.lower_node(node);
  program.outputs = {graph.output()};
  const Program plain = expression::instantiate(program, {});
  const Program factored = expression::factor(plain, typical);
  // What was written as one stage stays as it was written.
  if (factored.stages.size() == plain.stages.size()) return plain;
  return order_intermediates(factored, typical);
}

}  // namespace opsmith::substitute
