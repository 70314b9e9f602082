#pragma once

#include <string>

#include "graph/graph.h"
#include "graph/shape_inference.h"
#include "support/random.h"

namespace opsmith::substitute {

inline Tensor random_tensor(const Shape& shape, uint64_t seed, double scale = 0.2) {
  Random random(seed);
  Tensor tensor(ElementType::Float32, shape);
  for (float& value : tensor.data<float>()) value = static_cast<float>(scale * random.normal());
  return tensor;
}

/// x [N, 1, 12, 12] -> stem 3x3 to 8 channels -> depthwise 3x3 -> conv 3x3 stride 2 to 16 channels
/// -> relu -> flatten -> product to 24 numbers.
inline graph::Model small_network() {
  graph::Model model;
  model.source = "small.onnx";
  model.opsets[""] = 13;
  graph::Graph& g = model.graph;
  graph::Value input;
  input.name = "x";
  input.type = ElementType::Float32;
  input.shape = graph::SymbolicShape{graph::Dimension::named("N"), 1, 12, 12};
  const graph::ValueId x = g.add_value(input);
  g.inputs = {x};
  const auto convolution = [&](graph::ValueId from, const std::string& name, const Shape& shape,
                               int64_t groups, int64_t stride) {
    return g.add_node("Conv",
                      {from, g.add_constant(name + ".weight", random_tensor(shape, shape[0])),
                       g.add_constant(name + ".bias", random_tensor({shape[0]}, 5))},
                      {{"group", groups},
                       {"strides", std::vector<int64_t>{stride, stride}},
                       {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
                      1, "", name);
  };
  graph::ValueId y = convolution(x, "stem", {8, 1, 3, 3}, 1, 1);
  y = convolution(y, "depthwise", {8, 1, 3, 3}, 8, 1);
  y = convolution(y, "conv", {16, 8, 3, 3}, 1, 2);
  y = g.add_node("Relu", {y}, {}, 1, "", "relu");
  y = g.add_node("Flatten", {y}, {{"axis", int64_t{1}}}, 1, "", "flatten");
  y = g.add_node("Gemm",
                 {y, g.add_constant("product.weight", random_tensor({24, 576}, 3, 0.05)),
                  g.add_constant("product.bias", random_tensor({24}, 4))},
                 {{"transB", int64_t{1}}}, 1, "", "product");
  g.value(y).name = "scores";
  g.outputs = {y};
  graph::infer_shapes(model);
  return model;
}

}  // namespace opsmith::substitute
