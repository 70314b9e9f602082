#include "search/synthesis/canvas/open_region.h"

#include <algorithm>

#include "search/synthesis/canvas/realisation.h"
#include "support/error.h"

namespace opsmith::synthesis::canvas {

using substitute::Size;

namespace {

bool is_view(Primitive primitive) {
  return primitive == Primitive::Group || primitive == Primitive::Shift ||
         primitive == Primitive::Unfold;
}

/// The node whose tensor the views below a node read.
int base_of(const Kernel& kernel, int node) {
  while (node > 0 && is_view(kernel.node(node).step.primitive))
    node = kernel.node(node).step.operands[0];
  return node;
}

std::vector<Axis> axes(const TensorShape& shape) {
  std::vector<Axis> made;
  for (int i = 0; i < shape.dimensions(); ++i)
    made.push_back({i < shape.rank    ? "o" + std::to_string(i)
                    : i == shape.rank ? "h"
                                      : "w",
                    to_size(shape.dimension(i)), i >= shape.rank});
  return made;
}

/// All size variables with their values in every layer; dynamic ones are those of the solution.
std::vector<Variable> variables_of(const Targets& targets, const Solution& solution) {
  std::vector<Variable> variables;
  const auto add = [&](size_t number, const auto& value) {
    Variable variable{variable_name(number), {}, number == Height || number == Width};
    for (size_t layer = 0; layer < targets.layers().size(); ++layer)
      variable.values.push_back(value(layer));
    variables.push_back(std::move(variable));
  };
  for (size_t v = 0; v < FirstDynamic; ++v)
    add(v, [&](size_t layer) { return targets.value(static_cast<SizeVariable>(v), layer); });
  for (size_t v = 0; v < solution.variables.size(); ++v)
    add(static_cast<size_t>(solution.variables[v]),
        [&](size_t layer) { return solution.values[layer][v]; });
  return variables;
}

double value_of(const std::vector<Variable>& variables, const Extent& extent, size_t layer) {
  const Size size = to_size(extent);
  expression::Binding binding;
  for (const Variable& variable : variables) binding[variable.name] = variable.values[layer];
  return static_cast<double>(size.evaluate(binding).value());
}

/// The region with the data tensor and the weights renamed.
substitute::Region renamed(const substitute::Region& region, const std::string& data,
                           const std::string& weight_prefix) {
  substitute::Region made;
  std::vector<substitute::Coordinate> to(region.coordinates().size(), -1);
  const auto at = [&](substitute::Coordinate c) { return to[static_cast<size_t>(c)]; };
  const auto set = [&](substitute::Coordinate c, substitute::Coordinate now) {
    to[static_cast<size_t>(c)] = now;
  };
  for (const auto c : region.outputs()) set(c, made.output(region.name(c), region.extent(c)));
  struct Copy {
    substitute::Region& made;
    const substitute::Region& region;
    const decltype(at)& from;
    const decltype(set)& to;
    void operator()(const substitute::Split& p) const {
      to(p.result, made.split(from(p.outer), from(p.inner), region.name(p.result)));
    }
    void operator()(const substitute::Merge& p) const {
      const auto [outer, inner] =
          made.merge(from(p.source), p.block, region.name(p.outer), region.name(p.inner));
      to(p.outer, outer);
      to(p.inner, inner);
    }
    void operator()(const substitute::Shift& p) const {
      to(p.result, made.shift(from(p.source), p.amount, region.name(p.result)));
    }
    void operator()(const substitute::Expand& p) const { made.expand(from(p.source)); }
    void operator()(const substitute::Unfold& p) const {
      to(p.result,
         made.unfold(from(p.position), from(p.window), p.before, p.extent, region.name(p.result)));
    }
    void operator()(const substitute::Stride& p) const {
      to(p.result, made.stride(from(p.source), p.stride, region.name(p.result)));
    }
    void operator()(const substitute::Reduce& p) const {
      to(p.result, made.reduce(region.name(p.result), region.extent(p.result)));
    }
    void operator()(const substitute::Share& p) const {
      const auto [first, second] =
          made.share(from(p.source), region.name(p.first), region.name(p.second));
      to(p.first, first);
      to(p.second, second);
    }
  };
  for (const substitute::Primitive& primitive : region.primitives())
    std::visit(Copy{made, region, at, set}, primitive);
  const auto placed = [&](const substitute::Operand& operand) {
    std::vector<substitute::Coordinate> coordinates;
    for (const auto c : operand.coordinates) coordinates.push_back(at(c));
    return coordinates;
  };
  made.read(data, placed(region.data().at(0)));
  for (const substitute::Operand& weight : region.weights())
    made.weight(weight_prefix + weight.tensor, placed(weight));
  return made;
}

}  // namespace

std::vector<OpenRegion> open_regions(const Kernel& kernel, const Targets& targets,
                                     const Solution& solution) {
  std::vector<OpenRegion> regions;
  if (std::any_of(targets.layers().begin(), targets.layers().end(),
                  [](const Target& target) { return target.copies > 1; }))
    return regions;
  for (int i = 1; i < kernel.size(); ++i) {
    if (kernel.node(i).step.primitive != Primitive::FullyConnected) continue;
    OpenRegion region;
    region.node = i;
    region.operand = base_of(kernel, kernel.node(i).step.operands[0]);
    const TensorShape& input = kernel.node(region.operand).shape;
    const TensorShape& output = kernel.node(i).shape;
    if (input.spatial != AlongBoth || output.spatial != AlongBoth) continue;
    region.problem.variables = variables_of(targets, solution);
    region.problem.carried = {{"n", Size::variable("N"), false}};
    region.problem.output = axes(output);
    region.problem.input = axes(input);
    for (size_t layer = 0; layer < targets.layers().size(); ++layer) {
      const double weight =
          value_of(region.problem.variables,
                   kernel.summed_channels(kernel.node(i).step) * output.channels[0], layer);
      region.problem.original_parameters += weight;
      region.problem.original_macs +=
          weight * static_cast<double>(targets.value(Height, layer) * targets.value(Width, layer));
    }
    regions.push_back(std::move(region));
  }
  return regions;
}

substitute::ValueGraph fill(const Kernel& kernel, const Targets& targets, const Solution& solution,
                            const OpenRegion& region, const FoundOperator& found, size_t layer) {
  substitute::ValueGraph graph = realise(kernel, targets, solution, layer);
  const auto name_of = [&](int node) {
    if (node == 0) return std::string("x");
    return node + 1 == kernel.size() ? std::string("y") : "t" + std::to_string(node);
  };
  for (substitute::ValueNode& node : graph.nodes) {
    // A last node of several channel dimensions is a copy of its own, named y.
    if (node.name != name_of(region.node) && node.name != "t" + std::to_string(region.node))
      continue;
    const auto* before = std::get_if<substitute::Region>(&node.operation);
    if (before == nullptr || before->weights().empty()) continue;
    node.operation = renamed(std::get<substitute::Region>(found.graph.nodes.at(0).operation),
                             before->data().at(0).tensor, before->weights()[0].tensor + "_");
    for (const auto& [name, value] : found.graph.sizes)
      if (graph.sizes.count(name) == 0) graph.sizes[name] = value;
    substitute::validate(graph);
    return graph;
  }
  throw InternalError("the open region is not in the kernel's operator");
}

}  // namespace opsmith::synthesis::canvas
