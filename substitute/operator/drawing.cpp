#include "substitute/operator/drawing.h"

#include <map>

namespace opsmith::substitute {

namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) result += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
  return result + "\"";
}

std::string shape_text(const std::vector<Size>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + to_string(shape[i]);
  return text + "]";
}

class Drawing {
 public:
  explicit Drawing(const ValueGraph& graph) : graph_(graph) {}

  std::string draw() {
    for (const ValueGraph::Input& input : graph_.inputs)
      box(input.name, input.name + " " + shape_text(input.shape), "box");
    for (const ValueNode& node : graph_.nodes) {
      std::visit([&](const auto& operation) { add(node.name, operation); }, node.operation);
    }
    return "digraph " + quoted(graph_.name) + " {\n  rankdir=BT;\n" + lines_ + "}\n";
  }

 private:
  void line(const std::string& text) { lines_ += "  " + text + ";\n"; }
  void box(const std::string& id, const std::string& label, const std::string& shape) {
    line(quoted(id) + " [label=" + quoted(label) + ", shape=" + shape + "]");
  }
  void arrow(const std::string& from, const std::string& to) {
    line(quoted(from) + " -> " + quoted(to));
  }
  std::string made(const std::string& name, const std::string& how) const {
    return name + " = " + how + " " + shape_text(graph_.shape_of(name));
  }
  static std::string over(const std::vector<int64_t>& dimensions) {
    std::string text = " over";
    for (const int64_t d : dimensions) text += " " + std::to_string(d);
    return text;
  }

  void add(const std::string& name, const Map& map) {
    box(name, made(name, to_string(map.function)), "box");
    for (const std::string& operand : map.operands) arrow(operand, name);
  }
  void add(const std::string& name, const Normalize& normalize) {
    box(name, made(name, "softmax" + over(normalize.dimensions)), "box");
    arrow(normalize.operand, name);
  }
  void add(const std::string& name, const Fold& fold) {
    const std::string kind = fold.kind == Fold::Kind::Average ? "average" : "maximum";
    box(name, made(name, kind + over(fold.dimensions)), "box");
    arrow(fold.operand, name);
  }

  /// A cluster of the region's primitives between the tensors that it reads and the one it makes.
  void add(const std::string& name, const Region& region) {
    std::map<Coordinate, std::string> maker;
    const std::string prefix = name + "/";
    for (const Coordinate c : region.outputs()) {
      maker[c] = prefix + region.name(c);
      box(maker[c], region.name(c) + ": " + to_string(region.extent(c)), "plaintext");
      arrow(maker[c], name);
    }
    int number = 0;
    for (const Primitive& primitive : region.primitives()) {
      const std::string id = prefix + std::to_string(number++);
      std::string label = verb(primitive);
      for (const Coordinate c : results(primitive)) {
        label += " " + region.name(c) + ": " + to_string(region.extent(c));
        maker[c] = id;
      }
      box(id, label, "ellipse");
      for (const Coordinate c : sources(primitive)) arrow(id, maker.at(c));
      if (sources(primitive).empty()) arrow(id, name);
    }
    box(name, made(name, region.primitives().empty() ? "copy" : "region"), "box");
    for (const Operand& operand : region.data()) read(name, operand, operand.tensor, maker);
    for (const Operand& operand : region.weights()) {
      box(operand.tensor, operand.tensor + " " + shape_text(region.shape_of(operand)), "hexagon");
      read(name, operand, operand.tensor, maker);
    }
  }

  void read(const std::string& region, const Operand& operand, const std::string& tensor,
            const std::map<Coordinate, std::string>& maker) {
    for (const Coordinate c : operand.coordinates) arrow(tensor, maker.at(c));
    if (operand.coordinates.empty()) arrow(tensor, region);
  }

  const ValueGraph& graph_;
  std::string lines_;
};

}  // namespace

std::string draw(const ValueGraph& graph) { return Drawing(graph).draw(); }

}  // namespace opsmith::substitute
