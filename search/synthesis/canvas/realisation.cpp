#include "search/synthesis/canvas/realisation.h"

#include "substitute/operator/value_graph.h"
#include "support/error.h"

namespace opsmith::synthesis::canvas {

using substitute::Coordinate;
using substitute::Region;
using substitute::Size;
using substitute::ValueGraph;

namespace {

using Coordinates = std::vector<Coordinate>;

bool is_view(Primitive primitive) {
  return primitive == Primitive::Group || primitive == Primitive::Shift ||
         primitive == Primitive::Unfold;
}

class Builder {
 public:
  Builder(const Kernel& kernel, Composition composition)
      : kernel_(kernel), composition_(composition) {
    if (composition != Composition::Single) copies_ = Size::variable("R");
  }

  ValueGraph build() {
    graph_.name = "canvas";
    const Size n = Size::variable("N"), c = Size::variable("C"), h = Size::variable("H"),
               w = Size::variable("W");
    graph_.inputs = {{"x", {n, composition_ == Composition::Add ? copies_ * c : c, h, w}}};
    tensors_.assign(static_cast<size_t>(kernel_.size()), "");
    tensors_[0] = composition_ == Composition::Single ? "x" : take_copies();
    for (int i = 1; i < kernel_.size(); ++i)
      if (!is_view(kernel_.node(i).step.primitive)) make(i);
    finish();
    substitute::validate(graph_);
    return std::move(graph_);
  }

 private:
  const TensorShape& shape(int node) const { return kernel_.node(node).shape; }
  bool several() const { return composition_ != Composition::Single; }
  /// Dimensions in front of a kernel's own: the batch and the copies.
  int64_t leading() const { return several() ? 2 : 1; }

  Coordinates declare_leading(Region& region) const {
    Coordinates leading = {region.output("n", Size::variable("N"))};
    if (several()) leading.push_back(region.output("r", copies_));
    return leading;
  }

  static Coordinates declare_spatial(Region& region, const TensorShape& shape) {
    Coordinates spatial;
    if ((shape.spatial & AlongHeight) != 0)
      spatial.push_back(region.output("h", Size::variable("H")));
    if ((shape.spatial & AlongWidth) != 0)
      spatial.push_back(region.output("w", Size::variable("W")));
    return spatial;
  }

  /// The input as the copies see it: [N, R, C, H, W].
  std::string take_copies() {
    Region region;
    const Coordinates leading = declare_leading(region);
    Coordinate channel = region.output("c", Size::variable("C"));
    const Coordinates spatial = declare_spatial(region, shape(0));
    if (composition_ == Composition::Join)
      region.expand(leading[1]);
    else
      channel = region.split(leading[1], channel);
    region.read("x", {leading[0], channel, spatial[0], spatial[1]});
    return add("parts", std::move(region));
  }

  std::string add(const std::string& name, decltype(substitute::ValueNode::operation) operation) {
    graph_.nodes.push_back({name, std::move(operation)});
    return name;
  }

  /// Places coordinates for the dimensions of a node at the tensor that it is a view of.
  void read(Region& region, int node, const Coordinates& leading, Coordinates channels,
            Coordinates spatial) {
    while (tensors_[static_cast<size_t>(node)].empty()) {
      const Step& step = kernel_.node(node).step;
      const bool height = (shape(node).spatial & AlongHeight) != 0;
      switch (step.primitive) {
        case Primitive::Group:
          if (!step.each_channel) {
            channels[1] = region.split(channels[0], channels[1]);
            channels.erase(channels.begin());
          }
          break;
        case Primitive::Shift:
          for (const uint8_t along : {AlongHeight, AlongWidth})
            if ((step.spatial & along) != 0) {
              Coordinate& c = spatial[along == AlongWidth && height ? 1 : 0];
              c = region.shift(c, {step.amount, ""});
            }
          break;
        case Primitive::Unfold:
          for (const uint8_t along : {AlongWidth, AlongHeight})
            if ((step.spatial & along) != 0) {
              Coordinate& c = spatial[along == AlongWidth && height ? 1 : 0];
              c = region.unfold(c, channels.back());
              channels.pop_back();
            }
          break;
        default:
          throw InternalError("a tensor of a kernel was not made");
      }
      node = step.operands[0];
    }
    Coordinates all = leading;
    all.insert(all.end(), channels.begin(), channels.end());
    all.insert(all.end(), spatial.begin(), spatial.end());
    region.read(tensors_[static_cast<size_t>(node)], all);
  }

  /// The name of a node's tensor, which a view is copied into.
  const std::string& tensor(int node) {
    std::string& name = tensors_[static_cast<size_t>(node)];
    if (!name.empty()) return name;
    Region region;
    const Coordinates leading = declare_leading(region);
    Coordinates channels;
    for (int i = 0; i < shape(node).rank; ++i)
      channels.push_back(region.output("c" + std::to_string(i),
                                       to_size(shape(node).channels[static_cast<size_t>(i)])));
    const Coordinates spatial = declare_spatial(region, shape(node));
    read(region, node, leading, channels, spatial);
    return name = add("t" + std::to_string(node), std::move(region));
  }

  void make(int node) {
    const Step& step = kernel_.node(node).step;
    const std::string name = "t" + std::to_string(node);
    std::string& made = tensors_[static_cast<size_t>(node)];
    switch (step.primitive) {
      case Primitive::FullyConnected:
        made = add(name, product(node));
        return;
      case Primitive::ElementWise:
        made = add(name, substitute::Map{step.function, {tensor(step.operands[0])}});
        return;
      case Primitive::Broadcast: {
        const std::string left = tensor(step.operands[0]);
        made = add(name, substitute::Map{step.function, {left, tensor(step.operands[1])}});
        return;
      }
      case Primitive::Fold: {
        substitute::Fold fold;
        fold.kind =
            step.maximum ? substitute::Fold::Kind::Maximum : substitute::Fold::Kind::Average;
        fold.operand = tensor(step.operands[0]);
        const TensorShape& operand = shape(step.operands[0]);
        const int64_t height = leading() + operand.rank;
        if (step.first >= 0) fold.dimensions.push_back(leading() + step.first);
        if ((step.spatial & AlongHeight) != 0) fold.dimensions.push_back(height);
        if ((step.spatial & AlongWidth) != 0)
          fold.dimensions.push_back(height + ((operand.spatial & AlongHeight) != 0 ? 1 : 0));
        made = add(name, fold);
        return;
      }
      case Primitive::Softmax: {
        substitute::Normalize normalize{tensor(step.operands[0]), {}};
        for (int64_t i = step.first; i <= step.last; ++i)
          normalize.dimensions.push_back(leading() + i);
        made = add(name, normalize);
        return;
      }
      default:
        throw InternalError("a view is not made by itself");
    }
  }

  Region product(int node) {
    const Step& step = kernel_.node(node).step;
    const TensorShape& operand = shape(step.operands[0]);
    Region region;
    const Coordinates leading = declare_leading(region);
    const Size width = to_size(shape(node).channels[0]);
    const Coordinate made = region.output("o", width);
    const Coordinates spatial = declare_spatial(region, shape(node));
    Coordinates in_data = leading, in_weight, channels;
    if (several()) {
      const auto [data, weight] = region.share(leading[1]);
      in_data[1] = data;
      in_weight.push_back(weight);
    }
    Coordinate rest = made;
    bool has_rest = true;
    if (operand.grouped) {
      const Size groups = to_size(operand.channels[0]);
      Coordinate group = made;
      has_rest = width != groups;
      if (has_rest) std::tie(group, rest) = region.merge(made, width / groups);
      const auto [data, weight] = region.share(group);
      channels.push_back(data);
      in_weight.push_back(weight);
    }
    if (has_rest) in_weight.push_back(rest);
    for (int i = operand.grouped ? 1 : 0; i < operand.rank; ++i) {
      const Coordinate summed =
          region.reduce("s" + std::to_string(i), to_size(operand.channels[static_cast<size_t>(i)]));
      const auto [data, weight] = region.share(summed);
      channels.push_back(data);
      in_weight.push_back(weight);
    }
    read(region, step.operands[0], in_data, channels, spatial);
    region.weight("w" + std::to_string(++weights_), in_weight);
    return region;
  }

  /// The last node as [N, C, H, W], with the copies joined or added.
  void finish() {
    const int last = kernel_.size() - 1;
    const TensorShape& final_shape = shape(last);
    const bool plain = !several() && final_shape.rank == 1;
    if (plain && !tensors_[static_cast<size_t>(last)].empty()) {
      graph_.nodes.back().name = "y";
      return;
    }
    Region region;
    Coordinates leading = {region.output("n", Size::variable("N"))};
    const Size c = Size::variable("C");
    Coordinate channel = region.output("o", composition_ == Composition::Join ? copies_ * c : c);
    const Coordinates spatial = declare_spatial(region, final_shape);
    if (composition_ == Composition::Add) leading.push_back(region.reduce("r", copies_));
    if (composition_ == Composition::Join) {
      const auto [copy, inner] = region.merge(channel, c);
      leading.push_back(copy);
      channel = inner;
    }
    Coordinates channels;
    Size below = c;
    for (int i = 0; i + 1 < final_shape.rank; ++i) {
      below = below / to_size(final_shape.channels[static_cast<size_t>(i)]);
      const auto [outer, inner] = region.merge(channel, below);
      channels.push_back(outer);
      channel = inner;
    }
    channels.push_back(channel);
    read(region, last, leading, channels, spatial);
    add("y", std::move(region));
  }

  const Kernel& kernel_;
  Composition composition_;
  Size copies_;
  ValueGraph graph_;
  std::vector<std::string> tensors_;  ///< by node, empty while there is only a view
  int weights_ = 0;
};

bool weights_depend_on_image(const ValueGraph& graph) {
  for (const substitute::ValueNode& node : graph.nodes) {
    const auto* region = std::get_if<Region>(&node.operation);
    if (region == nullptr) continue;
    for (const substitute::Operand& weight : region->weights())
      for (const Size& extent : region->shape_of(weight))
        if (extent.power("H") != 0 || extent.power("W") != 0) return true;
  }
  return false;
}

}  // namespace

Composition composition_for(const substitute::LayerShape& layer) {
  if (layer.input_channels == layer.output_channels) return Composition::Single;
  return layer.input_channels < layer.output_channels ? Composition::Join : Composition::Add;
}

ValueGraph realise(const Kernel& kernel, Composition composition) {
  return Builder(kernel, composition).build();
}

ValueGraph realise(const Kernel& kernel, const Targets& targets, const Solution& solution,
                   size_t layer) {
  const Target& target = targets.layers()[layer];
  ValueGraph graph = realise(kernel, composition_for(target.layer));
  graph.sizes["C"] = target.channels;
  if (target.copies > 1) graph.sizes["R"] = target.copies;
  graph.sizes["g"] = targets.groups();
  graph.sizes["kh"] = target.layer.kernel_height;
  graph.sizes["kw"] = target.layer.kernel_width;
  for (size_t v = 0; v < solution.variables.size(); ++v)
    graph.sizes[variable_name(static_cast<size_t>(solution.variables[v]))] =
        solution.values[layer][v];
  if (weights_depend_on_image(graph)) {
    graph.sizes["H"] = targets.value(Height, layer);
    graph.sizes["W"] = targets.value(Width, layer);
  }
  return graph;
}

substitute::Candidate candidate(const Kernel& kernel, const Targets& targets,
                                const Solution& solution, size_t layer) {
  const ValueGraph graph = realise(kernel, targets, solution, layer);
  const substitute::LayerShape& shape = targets.layers()[layer].layer;
  substitute::Candidate made;
  made.name = graph.name;
  made.formula = formula(kernel);
  made.text = print(graph);
  made.program = lower(graph, layer_values(shape), typical_binding(shape));
  return made;
}

}  // namespace opsmith::synthesis::canvas
