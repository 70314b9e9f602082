#pragma once

#include <string>
#include <vector>

#include "runtime/expression/program.h"

namespace opsmith::substitute {

using expression::Index;
using expression::Program;
using expression::Scalar;
using expression::Stage;

/// Adds `output[n,o,h,w] = sum_{c,a,b} input[n, o/(O/g)*(C/g)+c, h*stride+a-kh/2, w*stride+b-kw/2]
/// * weight[o,c,a,b]` and the weight's declaration.
inline void add_convolution(Program& program, const std::string& output, const std::string& input,
                            const std::string& weight, int64_t channels, int64_t outputs,
                            int64_t kernel_height, int64_t kernel_width, int64_t groups = 1,
                            int64_t stride = 1) {
  const auto it = [](const char* name) { return Index::iterator(name); };
  const std::vector<Index> shape = program.shape_of(input);
  Stage stage;
  stage.name = output;
  stage.axes = {{"n", shape[0]},
                {"o", outputs},
                {"h", floor_div(shape[2], stride)},
                {"w", floor_div(shape[3], stride)}};
  stage.reduction = expression::Reduction::Sum;
  stage.reduction_axes = {{"c", channels / groups}, {"a", kernel_height}, {"b", kernel_width}};
  const Index channel = floor_div(it("o"), outputs / groups) * Index(channels / groups) + it("c");
  stage.body = Scalar::read(input, {it("n"), channel,
                                    it("h") * Index(stride) + it("a") - Index(kernel_height / 2),
                                    it("w") * Index(stride) + it("b") - Index(kernel_width / 2)}) *
               Scalar::read(weight, {it("o"), it("c"), it("a"), it("b")});
  program.weights.push_back(
      {weight, ElementType::Float32, {outputs, channels / groups, kernel_height, kernel_width}});
  program.stages.push_back(stage);
  program.outputs = {output};
}

inline Program empty_program(int64_t channels) {
  Program program;
  program.name = "test";
  program.inputs = {{"x",
                     ElementType::Float32,
                     {Index::symbol("N"), channels, Index::symbol("H"), Index::symbol("W")}}};
  return program;
}

inline LayerShape convolution_layer(int64_t channels, int64_t outputs, int64_t kernel = 3,
                                    int64_t stride = 1) {
  LayerShape layer;
  layer.input_channels = channels;
  layer.output_channels = outputs;
  layer.height = layer.width = 16;
  layer.kernel_height = layer.kernel_width = kernel;
  layer.stride = stride;
  layer.padding_top = layer.padding_left = layer.padding_bottom = layer.padding_right = kernel / 2;
  return layer;
}

}  // namespace opsmith::substitute
