#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace opsmith::exporter {

/// One node as a Python expression over torch tensors. `value` gives the Python name of a graph
/// value. Throws Unsupported naming the node when it has none here.
class PytorchExpressions {
 public:
  using Names = std::vector<std::string>;
  PytorchExpressions(const graph::Graph& graph, const Names& names, int64_t opset)
      : graph_(graph), names_(names), opset_(opset) {}

  std::string operator()(const graph::Node& node) const;

 private:
  std::string input(const graph::Node& node, size_t i) const;
  bool has_input(const graph::Node& node, size_t i) const;
  /// An input of whole numbers: a list where it is constant, else made one when run.
  std::string list(const graph::Node& node, size_t i) const;
  /// The axes of a node, from its attribute or its input.
  std::string axes(const graph::Node& node, size_t at_input) const;
  std::string convolution(const graph::Node& node) const;
  std::string pooling(const graph::Node& node, const std::string& helper) const;
  std::string reduction(const graph::Node& node, const std::string& helper) const;
  std::string product(const graph::Node& node) const;
  std::string slice(const graph::Node& node) const;
  std::string pad(const graph::Node& node) const;
  std::string clip(const graph::Node& node) const;
  std::string softmax(const graph::Node& node) const;

  const graph::Graph& graph_;
  const Names& names_;
  int64_t opset_;
};

/// Functions that the expressions call, as Python source.
extern const char* const pytorch_helpers;

}  // namespace opsmith::exporter
