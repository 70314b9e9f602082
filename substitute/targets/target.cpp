#include "substitute/targets/target.h"

#include <algorithm>

#include "substitute/targets/cost.h"
#include "support/error.h"

namespace opsmith::substitute {

namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

/// Fewer input channels leave an operator nothing to save.
constexpr int64_t kLeastChannels = 4;
/// A patch of more elements makes the least squares problem too large.
constexpr int64_t kLargestPatch = 4608;

std::string number(int64_t value) { return std::to_string(value); }

/// Size of dimension `i`, 0 where it is not known.
int64_t extent(const Graph& graph, ValueId id, size_t i) {
  const auto& shape = graph.value(id).shape;
  return shape && i < shape->size() ? (*shape)[i].size.value_or(0) : 0;
}

/// The weight of a layer as a constant of floats; otherwise says why not.
const Tensor* float_weight(const Graph& graph, const Node& node, std::string& reason) {
  const Tensor* weight = node.input(1) == graph::kNoValue ? nullptr : graph.constant(node.input(1));
  if (weight == nullptr) {
    reason = "its weight is computed, not constant";
  } else if (weight->type() != ElementType::Float32) {
    reason = "its weight is " + to_string(weight->type()) + ", not f32";
    return nullptr;
  }
  return weight;
}

/// Padding of each side, with auto_pad resolved; false when that needs an unknown extent.
bool resolve_padding(const Graph& graph, const Node& node, LayerShape& layer) {
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "NOTSET" || automatic.empty()) {
    const std::vector<int64_t> pads = node.integers("pads", {0, 0, 0, 0});
    if (pads.size() != 4) return false;
    layer.padding_top = pads[0];
    layer.padding_left = pads[1];
    layer.padding_bottom = pads[2];
    layer.padding_right = pads[3];
    return true;
  }
  if (automatic == "VALID") return true;
  const auto same = [&](int64_t input, int64_t kernel, int64_t& before, int64_t& after) {
    if (input == 0) return false;
    const int64_t output = (input + layer.stride - 1) / layer.stride;
    const int64_t total = std::max<int64_t>(
        0, (output - 1) * layer.stride + (kernel - 1) * layer.dilation + 1 - input);
    before = automatic == "SAME_LOWER" ? total - total / 2 : total / 2;
    after = total - before;
    return true;
  };
  return same(extent(graph, node.input(0), 2), layer.kernel_height, layer.padding_top,
              layer.padding_bottom) &&
         same(extent(graph, node.input(0), 3), layer.kernel_width, layer.padding_left,
              layer.padding_right);
}

/// Fills the shape of a Conv; returns why it cannot be replaced.
std::string describe_convolution(const Graph& graph, const Node& node, LayerShape& layer) {
  std::string reason;
  const Tensor* weight = float_weight(graph, node, reason);
  if (weight == nullptr) return reason;
  const Shape& shape = weight->shape();
  if (shape.size() != 4) return "it is " + number(weight->rank() - 2) + "-dimensional, not 2";
  layer.kind = LayerShape::Kind::Convolution;
  layer.output_channels = shape[0];
  layer.input_channels = shape[1] * node.integer("group", 1);
  layer.kernel_height = shape[2];
  layer.kernel_width = shape[3];
  layer.height = extent(graph, node.input(0), 2);
  layer.width = extent(graph, node.input(0), 3);
  const std::vector<int64_t> strides = node.integers("strides", {1, 1});
  const std::vector<int64_t> dilations = node.integers("dilations", {1, 1});
  if (strides.size() != 2 || strides[0] != strides[1]) return "its strides differ";
  if (dilations.size() != 2 || dilations[0] != dilations[1]) return "its dilations differ";
  layer.stride = strides[0];
  layer.dilation = dilations[0];
  if (!resolve_padding(graph, node, layer)) {
    return "its automatic padding depends on an unknown extent";
  }
  const int64_t groups = node.integer("group", 1);
  if (groups == layer.input_channels && groups > 1) return "it is depthwise already";
  if (groups > 1) return "it is grouped already (" + number(groups) + " groups)";
  if (layer.input_channels < kLeastChannels) {
    return "it has only " + number(layer.input_channels) + " input channel" +
           (layer.input_channels == 1 ? "" : "s");
  }
  return "";
}

std::string describe_product(const Graph& graph, const Node& node, LayerShape& layer) {
  std::string reason;
  layer.kind = LayerShape::Kind::Product;
  const Tensor* weight = float_weight(graph, node, reason);
  if (weight == nullptr) return reason;
  if (weight->rank() != 2) {
    return "its weight has " + number(weight->rank()) + " dimensions, not 2";
  }
  const bool transposed = node.is("Gemm") && node.integer("transB", 0) != 0;
  layer.input_channels = weight->shape()[transposed ? 1 : 0];
  layer.output_channels = weight->shape()[transposed ? 0 : 1];
  if (node.is("Gemm")) {
    if (node.integer("transA", 0) != 0) return "its first operand is transposed";
    const ValueId bias = node.input(2);
    if (bias != graph::kNoValue) {
      const Tensor* constant = graph.constant(bias);
      if (constant == nullptr) return "its bias is computed, not constant";
      if (constant->type() != ElementType::Float32 ||
          (constant->count() != layer.output_channels && constant->count() != 1)) {
        return "its bias is not one number per output";
      }
    }
  }
  if (std::min(layer.input_channels, layer.output_channels) < kLeastChannels) {
    return "it has only " + number(std::min(layer.input_channels, layer.output_channels)) +
           " rows or columns";
  }
  return "";
}

int64_t rows_of_sample(const Graph& graph, const Node& node) {
  const auto& shape = graph.value(node.input(0)).shape;
  int64_t rows = 1;
  if (!shape) return rows;
  for (size_t i = 0; i + 1 < shape->size(); ++i) {
    if (i > 0 || (*shape)[i].known()) rows *= (*shape)[i].size.value_or(1);
  }
  return rows;
}

Target describe(const graph::Model& model, int32_t index) {
  const Graph& graph = model.graph;
  const Node& node = graph.nodes[static_cast<size_t>(index)];
  Target target;
  target.node = index;
  target.type = node.type;
  target.name = !node.name.empty() || node.output(0) == graph::kNoValue
                    ? node.name
                    : graph.value(node.output(0)).name;
  target.macs = node_macs(model, node);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Tensor* constant =
        node.input(i) == graph::kNoValue ? nullptr : graph.constant(node.input(i));
    if (constant != nullptr) target.parameters += constant->count();
  }
  if (node.is("Conv")) {
    target.reason = describe_convolution(graph, node, target.shape);
  } else if (node.is("ConvTranspose")) {
    target.reason = "transposed convolutions have no operators yet";
  } else {
    target.reason = describe_product(graph, node, target.shape);
    target.rows = rows_of_sample(graph, node);
  }
  if (target.replaceable()) {
    const int64_t patch = window_of(target.shape).patch_size(target.shape.input_channels);
    if (patch > kLargestPatch) {
      target.reason = "each output sees " + number(patch) + " inputs, too many to fit";
    }
  }
  if (target.replaceable() && catalogue(target.shape).empty()) {
    target.reason = "no operator of the catalogue is cheaper";
  }
  return target;
}

}  // namespace

ValueId Target::input(const Graph& graph) const {
  return graph.nodes.at(static_cast<size_t>(node)).input(0);
}

ValueId Target::output(const Graph& graph) const {
  return graph.nodes.at(static_cast<size_t>(node)).output(0);
}

std::vector<Target> find_targets(const graph::Model& model,
                                 const std::vector<std::string>& exclude) {
  std::vector<Target> targets;
  for (size_t i = 0; i < model.graph.nodes.size(); ++i) {
    const Node& node = model.graph.nodes[i];
    if (node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm") || node.is("MatMul")) {
      targets.push_back(describe(model, static_cast<int32_t>(i)));
    }
  }
  for (const std::string& name : exclude) {
    const auto found = std::find_if(targets.begin(), targets.end(),
                                    [&](const Target& target) { return target.name == name; });
    if (found == targets.end()) {
      throw UserError(model.source + ": there is no convolution or matrix product named '" + name +
                      "' to exclude; 'opsmith inspect' lists them");
    }
    if (found->replaceable()) found->reason = "excluded";
  }
  return targets;
}

namespace {

/// Calls visit(index in the node's weight tensor, index in the map's kernel) for every element.
template <typename Visit>
void visit_elements(const Node& node, const LayerShape& shape, const Window& window,
                    const Visit& visit) {
  size_t i = 0;
  const int64_t patch = window.patch_size(shape.input_channels);
  if (shape.kind == LayerShape::Kind::Product) {
    const bool transposed = node.is("Gemm") && node.integer("transB", 0) != 0;
    for (int64_t o = 0; o < shape.output_channels; ++o) {
      for (int64_t k = 0; k < patch; ++k) {
        visit(static_cast<size_t>(transposed ? o * patch + k : k * shape.output_channels + o),
              static_cast<size_t>(o * patch + k));
      }
    }
    return;
  }
  for (int64_t o = 0; o < shape.output_channels; ++o) {
    for (int64_t c = 0; c < shape.input_channels; ++c) {
      for (int64_t a = 0; a < shape.kernel_height; ++a) {
        for (int64_t b = 0; b < shape.kernel_width; ++b) {
          const InputOffset offset{c, a * shape.dilation - shape.padding_top,
                                   b * shape.dilation - shape.padding_left};
          visit(i++, static_cast<size_t>(o * patch + window.patch_index(offset)));
        }
      }
    }
  }
}

float scale_of(const Node& node, const char* attribute) {
  return node.is("Gemm") ? node.real(attribute, 1.0f) : 1.0f;
}

const Tensor* bias_of(const Graph& graph, const Node& node) {
  return node.input(2) == graph::kNoValue ? nullptr : graph.constant(node.input(2));
}

}  // namespace

LinearMap original_map(const Graph& graph, const Target& target) {
  const Node& node = graph.nodes.at(static_cast<size_t>(target.node));
  const Tensor* weight = graph.constant(node.input(1));
  require(target.replaceable() && weight != nullptr, "target " + target.name + " has no map");
  LinearMap map;
  map.window = window_of(target.shape);
  map.outputs = target.shape.output_channels;
  map.patch_size = map.window.patch_size(target.shape.input_channels);
  map.kernel.assign(static_cast<size_t>(map.outputs * map.patch_size), 0.0f);
  map.bias.assign(static_cast<size_t>(map.outputs), 0.0f);
  const std::span<const float> w = weight->data<float>();
  const float alpha = scale_of(node, "alpha");
  visit_elements(node, target.shape, map.window,
                 [&](size_t i, size_t k) { map.kernel[k] = alpha * w[i]; });
  if (const Tensor* bias = bias_of(graph, node)) {
    const std::span<const float> b = bias->data<float>();
    for (size_t o = 0; o < map.bias.size(); ++o) {
      map.bias[o] = scale_of(node, "beta") * b[b.size() == 1 ? 0 : o];
    }
  }
  return map;
}

bool set_map(Graph& graph, const Target& target, const LinearMap& map) {
  require(map.window == window_of(target.shape), "the map has another window than " + target.name);
  const Node node = graph.nodes.at(static_cast<size_t>(target.node));
  const float alpha = scale_of(node, "alpha"), beta = scale_of(node, "beta");
  if (node.is("MatMul") || alpha == 0 || beta == 0) return false;
  Tensor weight(ElementType::Float32, graph.constant(node.input(1))->shape());
  const std::span<float> w = weight.data<float>();
  visit_elements(node, target.shape, map.window,
                 [&](size_t i, size_t k) { w[i] = map.kernel[k] / alpha; });
  Tensor bias = Tensor::of<float>({map.outputs}, map.bias);
  for (float& b : bias.data<float>()) b /= beta;
  const graph::ValueId weight_id = graph.add_constant(target.name + ".weight", weight);
  const graph::ValueId bias_id = graph.add_constant(target.name + ".bias", bias);
  graph.nodes[static_cast<size_t>(target.node)].inputs = {node.input(0), weight_id, bias_id};
  return true;
}

}  // namespace opsmith::substitute
