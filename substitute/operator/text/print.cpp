#include "substitute/operator/value_graph.h"

namespace opsmith::substitute {

namespace {

std::string print_shape(const std::vector<Size>& shape) {
  std::string text;
  for (const Size& size : shape) text += (text.empty() ? "" : ", ") + to_string(size);
  return "[" + text + "]";
}

class RegionPrinter {
 public:
  explicit RegionPrinter(const Region& region) : region_(region) {}

  std::string print(const std::string& node_name) const {
    std::string text = "region " + node_name + "[";
    for (size_t i = 0; i < region_.outputs().size(); ++i)
      text += (i > 0 ? ", " : "") + declared(region_.outputs()[i]);
    text += "] {\n";
    for (const Primitive& primitive : region_.primitives())
      text += "  " + std::visit([&](const auto& p) { return line(p); }, primitive) + "\n";
    for (const Operand& operand : region_.data()) text += "  read " + placed(operand) + "\n";
    for (const Operand& operand : region_.weights()) text += "  weight " + placed(operand) + "\n";
    return text + "}\n";
  }

 private:
  const std::string& name(Coordinate c) const { return region_.name(c); }
  std::string declared(Coordinate c) const { return name(c) + ": " + to_string(region_.extent(c)); }
  std::string placed(const Operand& operand) const {
    std::string text;
    for (const Coordinate c : operand.coordinates) text += (text.empty() ? "" : ", ") + name(c);
    return operand.tensor + "[" + text + "]";
  }

  std::string line(const Split& p) const {
    return "split " + name(p.outer) + ", " + name(p.inner) + " -> " + name(p.result);
  }
  std::string line(const Merge& p) const {
    return "merge " + name(p.source) + " by " + to_string(p.block) + " -> " + name(p.outer) + ", " +
           name(p.inner);
  }
  std::string line(const Shift& p) const {
    return "shift " + name(p.source) + " by " + to_string(p.amount) + " -> " + name(p.result);
  }
  std::string line(const Expand& p) const { return "expand " + name(p.source); }
  std::string line(const Unfold& p) const {
    return "unfold " + name(p.position) + ", " + name(p.window) +
           (p.before ? " minus " + to_string(*p.before) : "") +
           (p.extent ? " into " + to_string(*p.extent) : "") + " -> " + name(p.result);
  }
  std::string line(const Stride& p) const {
    return "stride " + name(p.source) + " by " + to_string(p.stride) + " -> " + name(p.result);
  }
  std::string line(const Reduce& p) const { return "reduce " + declared(p.result); }
  std::string line(const Share& p) const {
    return "share " + name(p.source) + " -> " + name(p.first) + ", " + name(p.second);
  }

  const Region& region_;
};

std::string print_dimensions(const std::vector<int64_t>& dimensions) {
  std::string text;
  for (const int64_t d : dimensions) text += (text.empty() ? "" : ", ") + std::to_string(d);
  return text;
}

std::string print_node(const std::string& name, const Region& region) {
  return RegionPrinter(region).print(name);
}
std::string print_node(const std::string& name, const Map& map) {
  std::string operands;
  for (const std::string& operand : map.operands)
    operands += (operands.empty() ? "" : ", ") + operand;
  return "map " + name + " = " + to_string(map.function) + "(" + operands + ")\n";
}
std::string print_node(const std::string& name, const Normalize& normalize) {
  return "normalize " + name + " = softmax(" + normalize.operand + ") over " +
         print_dimensions(normalize.dimensions) + "\n";
}
std::string print_node(const std::string& name, const Fold& fold) {
  return "fold " + name + " = " + (fold.kind == Fold::Kind::Average ? "average" : "maximum") + "(" +
         fold.operand + ") over " + print_dimensions(fold.dimensions) + "\n";
}

}  // namespace

std::string print(const ValueGraph& graph) {
  std::string text = "operator " + graph.name;
  bool first = true;
  for (const auto& [variable, value] : graph.sizes) {
    text += (first ? " with " : ", ") + variable + " = " + std::to_string(value);
    first = false;
  }
  text += "\n";
  for (const ValueGraph::Input& input : graph.inputs)
    text += "input " + input.name + print_shape(input.shape) + "\n";
  for (const ValueNode& node : graph.nodes)
    text += std::visit([&](const auto& operation) { return print_node(node.name, operation); },
                       node.operation);
  return text;
}

}  // namespace opsmith::substitute
