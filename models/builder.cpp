#include "models/builder.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/shape_inference.h"
#include "support/error.h"

namespace opsmith::models {

using graph::Attribute;
using graph::Dimension;
using graph::SymbolicShape;
using graph::ValueId;

namespace {

/// The oldest IR version that goes with an opset.
int64_t ir_version(int64_t opset) {
  if (opset <= 9) return 4;
  if (opset == 10) return 5;
  if (opset == 11) return 6;
  if (opset <= 14) return 7;
  return opset <= 18 ? 8 : 9;
}

std::vector<int64_t> pads(const Window& window) {
  const auto of = [&](int64_t extent) {
    return window.padding >= 0 ? window.padding : window.dilation * (extent - 1) / 2;
  };
  const int64_t vertical = of(window.height), horizontal = of(window.width);
  return {vertical, horizontal, vertical, horizontal};
}

std::map<std::string, Attribute> window_attributes(const Window& window) {
  return {{"kernel_shape", std::vector<int64_t>{window.height, window.width}},
          {"strides", std::vector<int64_t>{window.stride, window.stride}},
          {"pads", pads(window)}};
}

}  // namespace

Builder::Builder(const std::string& model_name, const ModelOptions& options)
    : options_(options), random_(options.seed) {
  model_.graph.name = model_name;
  model_.opsets[""] = options.opset;
  model_.ir_version = ir_version(options.opset);
  model_.producer = "opsmith";
  model_.source = model_name;
}

int64_t Builder::width(int64_t channels) const {
  if (options_.width_divisor == 1) return channels;
  const int64_t divided = channels / options_.width_divisor;
  return std::max<int64_t>(8, (divided + 7) / 8 * 8);
}

int64_t Builder::groups(int64_t count) const {
  return std::max<int64_t>(2, count / options_.width_divisor);
}

ValueId Builder::input(const std::string& name, ElementType type, SymbolicShape shape) {
  graph::Value value;
  value.name = name;
  value.type = type;
  value.shape = std::move(shape);
  const ValueId id = graph().add_value(std::move(value));
  graph().inputs.push_back(id);
  return id;
}

ValueId Builder::image_input(int64_t channels, int64_t default_size) {
  const int64_t size = options_.size > 0 ? options_.size : default_size;
  if (size < 32) {
    throw UserError("model '" + graph().name + "': an image of " + std::to_string(size) +
                    " pixels is too small for its five halvings; give at least 32");
  }
  const Dimension batch = options_.batch > 0 ? Dimension(options_.batch) : Dimension::named("N");
  const ValueId id = input("input", ElementType::Float32, {batch, channels, size, size});
  channels_[id] = channels;
  return id;
}

ValueId Builder::node(const std::string& type, std::vector<ValueId> inputs, int64_t channels,
                      std::map<std::string, Attribute> attributes, const std::string& name) {
  // Exporters number what has no name of its own: Relu_0, Relu_1.
  const std::string node_name =
      name.empty() ? type + "_" + std::to_string(counters_[type]++) : name;
  const ValueId id =
      graph().add_node(type, std::move(inputs), std::move(attributes), 1, "", node_name);
  channels_[id] = channels;
  return id;
}

ValueId Builder::constant(const std::string& name, Tensor tensor) {
  return graph().add_constant(name, std::move(tensor));
}

ValueId Builder::random_weight(const std::string& name, const Shape& shape, double deviation) {
  Tensor tensor(ElementType::Float32, shape);
  const double bound = deviation * std::sqrt(3.0);
  for (float& weight : tensor.data<float>()) {
    weight = static_cast<float>(random_.uniform(-bound, bound));
  }
  return constant(name, std::move(tensor));
}

ValueId Builder::conv(ValueId x, int64_t channels, const Window& window, const std::string& name,
                      const ConvOptions& conv_options) {
  const int64_t group_inputs = this->channels(x) / conv_options.groups;
  require(group_inputs * conv_options.groups == this->channels(x) &&
              channels % conv_options.groups == 0,
          name + ": channels do not divide into groups");
  const auto fan_in = static_cast<double>(group_inputs * window.height * window.width);
  std::vector<ValueId> inputs{
      x, random_weight(name + ".weight", {channels, group_inputs, window.height, window.width},
                       std::sqrt(conv_options.gain / fan_in))};
  if (conv_options.bias) inputs.push_back(random_weight(name + ".bias", {channels}, 0.1));
  std::map<std::string, Attribute> attributes = window_attributes(window);
  attributes["dilations"] = std::vector<int64_t>{window.dilation, window.dilation};
  attributes["group"] = conv_options.groups;
  return node("Conv", std::move(inputs), channels, std::move(attributes), name);
}

ValueId Builder::batch_norm(ValueId x, const std::string& name, double scale) {
  const int64_t count = channels(x);
  const auto parameters = [&](const std::string& suffix, double low, double high) {
    Tensor tensor(ElementType::Float32, {count});
    for (float& v : tensor.data<float>()) v = static_cast<float>(random_.uniform(low, high));
    return constant(name + suffix, std::move(tensor));
  };
  return node("BatchNormalization",
              {x, parameters(".weight", 0.8 * scale, 1.2 * scale), parameters(".bias", -0.2, 0.2),
               parameters(".running_mean", -0.2, 0.2), parameters(".running_var", 0.8, 1.2)},
              count, {{"epsilon", 1e-5f}, {"momentum", 0.9f}}, name);
}

ValueId Builder::conv_bn_relu(ValueId x, int64_t channels, const Window& window,
                              const std::string& name, const ConvOptions& conv_options) {
  return relu(batch_norm(conv(x, channels, window, name + ".conv", conv_options), name + ".bn"));
}

ValueId Builder::relu6(ValueId x) {
  if (options_.opset < 11) {
    return node("Clip", {x}, channels(x), {{"min", 0.0f}, {"max", 6.0f}});
  }
  const ValueId low = constant("clip_min", Tensor::scalar(0.0f));
  return node("Clip", {x, low, constant("clip_max", Tensor::scalar(6.0f))}, channels(x));
}

ValueId Builder::unary(const std::string& type, ValueId x) {
  const auto found = channels_.find(x);
  return node(type, {x}, found == channels_.end() ? 0 : found->second);
}

ValueId Builder::binary(const std::string& type, ValueId a, ValueId b) {
  const auto found = channels_.find(a);
  return node(type, {a, b}, found == channels_.end() ? 0 : found->second);
}

ValueId Builder::max_pool(ValueId x, const Window& window) {
  std::map<std::string, Attribute> attributes = window_attributes(window);
  if (window.ceiling) attributes["ceil_mode"] = int64_t{1};
  return node("MaxPool", {x}, channels(x), std::move(attributes));
}

ValueId Builder::average_pool(ValueId x, const Window& window) {
  return node("AveragePool", {x}, channels(x), window_attributes(window));
}

ValueId Builder::global_average_pool(ValueId x) {
  return node("GlobalAveragePool", {x}, channels(x));
}

ValueId Builder::concat(const std::vector<ValueId>& parts, int64_t axis) {
  int64_t total = 0;
  for (const ValueId part : parts) total += channels(part);
  return node("Concat", parts, total, {{"axis", axis}});
}

ValueId Builder::flatten(ValueId x, int64_t positions) {
  return node("Flatten", {x}, channels(x) * positions, {{"axis", int64_t{1}}});
}

ValueId Builder::linear(ValueId x, int64_t outputs, const std::string& name, double gain) {
  const int64_t inputs = channels(x);
  const ValueId weight = random_weight(name + ".weight", {outputs, inputs},
                                       std::sqrt(gain / static_cast<double>(inputs)));
  return node("Gemm", {x, weight, random_weight(name + ".bias", {outputs}, 0.1)}, outputs,
              {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", int64_t{1}}}, name);
}

ValueId Builder::matmul(ValueId x, int64_t inputs, int64_t outputs, const std::string& name,
                        double gain) {
  const ValueId weight = random_weight(name + ".weight", {inputs, outputs},
                                       std::sqrt(gain / static_cast<double>(inputs)));
  const ValueId product = node("MatMul", {x, weight}, outputs, {}, name);
  return node("Add", {product, random_weight(name + ".bias", {outputs}, 0.1)}, outputs);
}

ValueId Builder::layer_norm(ValueId x, int64_t width, const std::string& name) {
  Tensor gamma(ElementType::Float32, {width}), beta(ElementType::Float32, {width});
  for (float& v : gamma.data<float>()) v = static_cast<float>(random_.uniform(0.8, 1.2));
  for (float& v : beta.data<float>()) v = static_cast<float>(random_.uniform(-0.1, 0.1));
  const ValueId scale = constant(name + ".weight", std::move(gamma));
  const ValueId bias = constant(name + ".bias", std::move(beta));
  constexpr float kEpsilon = 1e-5f;
  if (options_.opset >= 17) {
    return node("LayerNormalization", {x, scale, bias}, width,
                {{"axis", int64_t{-1}}, {"epsilon", kEpsilon}}, name);
  }
  const auto mean = [&](ValueId of) {
    return node("ReduceMean", {of}, width,
                {{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{1}}});
  };
  const ValueId centred = node("Sub", {x, mean(x)}, width);
  const ValueId square =
      node("Pow", {centred, constant(name + ".exponent", Tensor::scalar(2.0f))}, width);
  const ValueId variance =
      node("Add", {mean(square), constant(name + ".epsilon", Tensor::scalar(kEpsilon))}, width);
  const ValueId normal = node("Div", {centred, unary("Sqrt", variance)}, width);
  return node("Add", {node("Mul", {normal, scale}, width), bias}, width);
}

ValueId Builder::gelu(ValueId x) {
  const ValueId scaled =
      binary("Div", x, constant("sqrt_2", Tensor::scalar(static_cast<float>(std::numbers::sqrt2))));
  const ValueId shifted = add(unary("Erf", scaled), constant("one", Tensor::scalar(1.0f)));
  return mul(mul(x, shifted), constant("half", Tensor::scalar(0.5f)));
}

ValueId Builder::reshape(ValueId x, const std::vector<int64_t>& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  return node("Reshape", {x, constant("shape", Tensor::of<int64_t>({rank}, shape))}, 0);
}

ValueId Builder::transpose(ValueId x, const std::vector<int64_t>& permutation) {
  return node("Transpose", {x}, 0, {{"perm", permutation}});
}

ValueId Builder::softmax(ValueId x) {
  // Before opset 13 the axis is where a matrix is cut; for the last axis both mean the same.
  return node("Softmax", {x}, 0, {{"axis", int64_t{-1}}});
}

graph::Model Builder::finish(const std::map<std::string, ValueId>& outputs) {
  for (const auto& [name, id] : outputs) {
    graph().value(id).name = name;
    graph().outputs.push_back(id);
  }
  graph::infer_shapes(model_);
  return std::move(model_);
}

}  // namespace opsmith::models
