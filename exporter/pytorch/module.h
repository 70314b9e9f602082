#pragma once

#include <map>
#include <string>

#include "graph/graph.h"

namespace opsmith::exporter {

/// A model as the source of a PyTorch module with its weights apart.
struct PytorchModule {
  std::string source;                     ///< Python: `class Model(torch.nn.Module)`
  std::map<std::string, Tensor> weights;  ///< by name in the source
};

/// Writes out the standard operators of a model, with the bodies of functions in place. The module
/// takes the model's inputs in order and returns its outputs. `weights_file` is where the module
/// looks for its weights when none are given, beside the source. Throws Unsupported naming the
/// first node that has no PyTorch form here.
PytorchModule pytorch_module(graph::Model model, const std::string& weights_file);

/// Writes the source to `path` and the weights beside it, as <path without .py>.npz.
void export_pytorch(const graph::Model& model, const std::string& path);

}  // namespace opsmith::exporter
