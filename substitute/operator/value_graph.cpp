#include "substitute/operator/value_graph.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::substitute {

bool is_binary(MapFunction function) { return function >= MapFunction::Add; }

std::string to_string(MapFunction function) {
  switch (function) {
    case MapFunction::Relu:
      return "relu";
    case MapFunction::Absolute:
      return "abs";
    case MapFunction::Exp:
      return "exp";
    case MapFunction::Sin:
      return "sin";
    case MapFunction::Tanh:
      return "tanh";
    case MapFunction::Sigmoid:
      return "sigmoid";
    case MapFunction::Negate:
      return "negate";
    case MapFunction::Add:
      return "add";
    case MapFunction::Subtract:
      return "subtract";
    case MapFunction::Multiply:
      return "multiply";
    case MapFunction::Minimum:
      return "minimum";
    case MapFunction::Maximum:
      return "maximum";
  }
  throw InternalError("unknown map function");
}

namespace {

std::vector<Size> without(const std::vector<Size>& shape, const std::vector<int64_t>& dimensions) {
  std::vector<Size> rest;
  for (size_t i = 0; i < shape.size(); ++i)
    if (std::find(dimensions.begin(), dimensions.end(), static_cast<int64_t>(i)) ==
        dimensions.end())
      rest.push_back(shape[i]);
  return rest;
}

std::string to_string(const std::vector<Size>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i > 0 ? ", " : "") + substitute::to_string(shape[i]);
  return text + "]";
}

void check(const ValueGraph& graph, const Region& region) {
  validate(region);
  for (const Operand& operand : region.data()) {
    const std::vector<Size> has = graph.shape_of(operand.tensor);
    const std::vector<Size> read = region.shape_of(operand);
    if (has != read)
      throw UserError("reads " + operand.tensor + " as " + to_string(read) + ", but it is " +
                      to_string(has));
  }
}

void check(const ValueGraph& graph, const Map& map) {
  if (map.operands.size() != (is_binary(map.function) ? 2 : 1))
    throw UserError(to_string(map.function) + " takes another number of operands");
  for (const std::string& operand : map.operands) graph.shape_of(operand);
}

void check_dimensions(const ValueGraph& graph, const std::string& operand,
                      const std::vector<int64_t>& dimensions) {
  const auto rank = static_cast<int64_t>(graph.shape_of(operand).size());
  if (dimensions.empty()) throw UserError("names no dimension");
  for (size_t i = 0; i < dimensions.size(); ++i)
    if (dimensions[i] < 0 || dimensions[i] >= rank || (i > 0 && dimensions[i] <= dimensions[i - 1]))
      throw UserError("the dimensions must ascend and lie below " + std::to_string(rank));
}

void check(const ValueGraph& graph, const Normalize& normalize) {
  check_dimensions(graph, normalize.operand, normalize.dimensions);
}
void check(const ValueGraph& graph, const Fold& fold) {
  check_dimensions(graph, fold.operand, fold.dimensions);
}

std::vector<Size> shape(const ValueGraph&, const Region& region) { return region.output_shape(); }
std::vector<Size> shape(const ValueGraph& graph, const Map& map) {
  return graph.shape_of(map.operands.back());
}
std::vector<Size> shape(const ValueGraph& graph, const Normalize& normalize) {
  return graph.shape_of(normalize.operand);
}
std::vector<Size> shape(const ValueGraph& graph, const Fold& fold) {
  return without(graph.shape_of(fold.operand), fold.dimensions);
}

}  // namespace

std::vector<Size> ValueGraph::shape_of(const std::string& tensor) const {
  for (const Input& input : inputs)
    if (input.name == tensor) return input.shape;
  for (const ValueNode& node : nodes)
    if (node.name == tensor)
      return std::visit([&](const auto& operation) { return shape(*this, operation); },
                        node.operation);
  throw UserError("there is no tensor " + tensor);
}

std::vector<std::string> ValueGraph::weights() const {
  std::vector<std::string> names;
  for (const ValueNode& node : nodes)
    if (const auto* region = std::get_if<Region>(&node.operation))
      for (const Operand& operand : region->weights()) names.push_back(operand.tensor);
  return names;
}

std::vector<Size> ValueGraph::all_sizes() const {
  std::vector<Size> all;
  for (const Input& input : inputs) all.insert(all.end(), input.shape.begin(), input.shape.end());
  for (const ValueNode& node : nodes) {
    const auto* region = std::get_if<Region>(&node.operation);
    if (region == nullptr) continue;
    for (const Region::Info& info : region->coordinates()) all.push_back(info.extent);
    for (const Primitive& primitive : region->primitives())
      if (const auto* stride = std::get_if<Stride>(&primitive)) all.push_back(stride->stride);
  }
  return all;
}

void validate(const ValueGraph& graph) {
  if (graph.nodes.empty()) throw UserError("the operator " + graph.name + " has no node");
  // Each node sees only what stands before it.
  ValueGraph before;
  before.inputs = graph.inputs;
  std::vector<std::string> names;
  const auto declare = [&](const std::string& tensor) {
    if (std::find(names.begin(), names.end(), tensor) != names.end())
      throw UserError("operator " + graph.name + ": the tensor " + tensor + " is declared twice");
    names.push_back(tensor);
  };
  for (const ValueGraph::Input& input : graph.inputs) declare(input.name);
  for (const ValueNode& node : graph.nodes) {
    try {
      std::visit([&](const auto& operation) { check(before, operation); }, node.operation);
    } catch (const UserError& error) {
      throw UserError("operator " + graph.name + ", node " + node.name + ": " + error.what());
    }
    declare(node.name);
    if (const auto* region = std::get_if<Region>(&node.operation))
      for (const Operand& operand : region->weights()) declare(operand.tensor);
    before.nodes.push_back(node);
  }
}

namespace {

/// The value of an index when all its symbols are fixed.
std::optional<int64_t> fixed_value(const expression::Index& index,
                                   const expression::Binding& fixed) {
  bool open = false;
  expression::substitute(index, [&](const expression::Index& leaf) -> const expression::Index* {
    open = open || (leaf.kind() == expression::Index::Kind::Symbol && !fixed.contains(leaf.name()));
    return nullptr;
  });
  if (open) return std::nullopt;
  return expression::evaluate(index, fixed);
}

}  // namespace

void require_whole_sizes(const ValueGraph& graph, const SizeValues& values,
                         const expression::Binding& fixed) {
  expression::Binding known;
  for (const auto& [name, index] : values)
    if (const auto value = fixed_value(index, fixed)) known[name] = *value;
  for (const auto& [name, value] : graph.sizes) known[name] = value;
  for (const Size& size : graph.all_sizes()) {
    // What is open multiplies (Size::is_legal), so the rest must be whole without it.
    Size closed = size;
    std::string open;
    for (const auto& [name, power] : size.powers()) {
      if (known.contains(name)) continue;
      closed = closed / Size::variable(name, power);
      open += (open.empty() ? "" : ", ") + name;
    }
    if (!closed.evaluate(known))
      throw UserError("the size " + to_string(size) + " is not a whole number" +
                      (open.empty() ? "" : " for every " + open));
  }
}

}  // namespace opsmith::substitute
