#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "models/reference_models.h"
#include "support/random.h"

namespace opsmith::models {

/// Extents of a window over height and width.
struct Window {
  int64_t height = 1;
  int64_t width = 1;
  int64_t stride = 1;
  int64_t padding = -1;  ///< on every side; -1: half the window, rounded down ("same" for odd ones)
  int64_t dilation = 1;
  bool ceiling = false;  ///< of a pooling: round the output's extent up

  static Window square(int64_t size, int64_t stride = 1, int64_t padding = -1) {
    return {size, size, stride, padding};
  }
};

struct ConvOptions {
  int64_t groups = 1;
  bool bias = false;
  /// Second moment of the output over that of the input, roughly: 2 makes up for a ReLU that
  /// follows, 1 keeps a linear branch as it is.
  double gain = 2;
};

/// Builds a model with seeded weights so scaled that activations neither vanish nor explode: a
/// network exported with default random weights often answers all zeros, which hides every error.
/// Nodes are written as exporters write them for the chosen opset.
class Builder {
 public:
  Builder(const std::string& model_name, const ModelOptions& options);

  const ModelOptions& options() const { return options_; }
  /// A width divided by the options' divisor, at least 8 and a multiple of 8.
  int64_t width(int64_t channels) const;
  /// The groups of a grouped convolution, divided likewise; at least 2.
  int64_t groups(int64_t count) const;

  /// [N, channels, size, size] float32 named "input".
  graph::ValueId image_input(int64_t channels, int64_t default_size);
  graph::ValueId input(const std::string& name, ElementType type, graph::SymbolicShape shape);

  /// Convolution from however many channels `x` has.
  graph::ValueId conv(graph::ValueId x, int64_t channels, const Window& window,
                      const std::string& name, const ConvOptions& conv_options = {});
  /// Normalisation with statistics about those of a unit input; `scale` multiplies its gamma.
  graph::ValueId batch_norm(graph::ValueId x, const std::string& name, double scale = 1);
  /// conv, batch_norm and relu.
  graph::ValueId conv_bn_relu(graph::ValueId x, int64_t channels, const Window& window,
                              const std::string& name, const ConvOptions& conv_options = {});

  graph::ValueId relu(graph::ValueId x) { return unary("Relu", x); }
  graph::ValueId sigmoid(graph::ValueId x) { return unary("Sigmoid", x); }
  /// Clip to [0, 6], its bounds as attributes before opset 11.
  graph::ValueId relu6(graph::ValueId x);
  graph::ValueId unary(const std::string& type, graph::ValueId x);
  /// A node of two inputs, with the channels of the first.
  graph::ValueId binary(const std::string& type, graph::ValueId a, graph::ValueId b);
  graph::ValueId add(graph::ValueId a, graph::ValueId b) { return binary("Add", a, b); }
  graph::ValueId mul(graph::ValueId a, graph::ValueId b) { return binary("Mul", a, b); }

  graph::ValueId max_pool(graph::ValueId x, const Window& window);
  graph::ValueId average_pool(graph::ValueId x, const Window& window);
  graph::ValueId global_average_pool(graph::ValueId x);
  graph::ValueId concat(const std::vector<graph::ValueId>& parts, int64_t axis = 1);
  /// [N, C, H, W] to rows of C * `positions` columns, where H * W = `positions`.
  graph::ValueId flatten(graph::ValueId x, int64_t positions = 1);
  /// Gemm with bias, from however many channels `x` has (its columns).
  graph::ValueId linear(graph::ValueId x, int64_t outputs, const std::string& name,
                        double gain = 1);

  /// x W + b over the last dimension, as MatMul and Add; weights of second moment `gain` / inputs.
  graph::ValueId matmul(graph::ValueId x, int64_t inputs, int64_t outputs, const std::string& name,
                        double gain = 1);
  /// The node of opset 17, its decomposition before.
  graph::ValueId layer_norm(graph::ValueId x, int64_t width, const std::string& name);
  /// 0.5 x (1 + erf(x / sqrt 2)).
  graph::ValueId gelu(graph::ValueId x);
  graph::ValueId reshape(graph::ValueId x, const std::vector<int64_t>& shape);
  graph::ValueId transpose(graph::ValueId x, const std::vector<int64_t>& permutation);
  graph::ValueId softmax(graph::ValueId x);
  graph::ValueId constant(const std::string& name, Tensor tensor);
  /// Uniform with mean zero and this standard deviation.
  graph::ValueId random_weight(const std::string& name, const Shape& shape, double deviation);

  graph::Graph& graph() { return model_.graph; }
  /// Channels of a value (dimension 1 of an image, columns of a matrix).
  int64_t channels(graph::ValueId x) const { return channels_.at(x); }

  /// The model with these outputs; the builder is empty afterwards.
  graph::Model finish(const std::map<std::string, graph::ValueId>& outputs);

 private:
  graph::ValueId node(const std::string& type, std::vector<graph::ValueId> inputs, int64_t channels,
                      std::map<std::string, graph::Attribute> attributes = {},
                      const std::string& name = "");

  ModelOptions options_;
  graph::Model model_;
  std::map<graph::ValueId, int64_t> channels_;
  std::map<std::string, int> counters_;
  Random random_;
};

}  // namespace opsmith::models
