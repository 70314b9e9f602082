#include "exporter/pytorch/module.h"

#include <cctype>
#include <filesystem>

#include "exporter/pytorch/expressions.h"
#include "graph/function.h"
#include "support/error.h"
#include "support/file.h"
#include "support/npz.h"

namespace opsmith::exporter {

namespace {

/// A Python name that tells the value, with its number so that no two are alike.
std::string python_name(const std::string& value, size_t number) {
  std::string name = "v" + std::to_string(number) + "_";
  for (const char c : value.substr(0, 40))
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

/// A constant that a node holds as its attribute "value".
const Tensor* held_constant(const graph::Node& node) {
  return node.is("Constant") ? node.tensor("value") : nullptr;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) text += (i > 0 ? ", " : "") + parts[i];
  return text;
}

}  // namespace

PytorchModule pytorch_module(graph::Model model, const std::string& weights_file) {
  graph::inline_functions(model);
  graph::Graph& graph = model.graph;
  PytorchModule module;
  std::vector<std::string> names;
  std::string weights, body;
  const auto add_weight = [&](const std::string& name, const Tensor& tensor) {
    module.weights[name] = tensor;
    weights += "        self._weight(\"" + name + "\", weights)\n";
    return "self." + name;
  };
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const auto id = static_cast<graph::ValueId>(i);
    names.push_back(python_name(graph.value(id).name, i));
    if (const Tensor* constant = graph.constant(id)) names[i] = add_weight(names[i], *constant);
  }
  for (const graph::Node& node : graph.nodes)
    if (const Tensor* constant = held_constant(node)) {
      graph.value(node.outputs[0]).constant = *constant;
      std::string& name = names[static_cast<size_t>(node.outputs[0])];
      name = add_weight(name, *constant);
    }
  const PytorchExpressions expression(graph, names, model.opset());
  for (const graph::Node& node : graph.nodes) {
    if (held_constant(node) != nullptr) continue;
    if (node.outputs.size() != 1)
      throw Unsupported(graph::describe(node) +
                        " has several outputs, which has no PyTorch form "
                        "here; write ONNX (--format onnx) instead");
    body +=
        "        " + names[static_cast<size_t>(node.outputs[0])] + " = " + expression(node) + "\n";
  }
  std::vector<std::string> inputs, outputs;
  for (const graph::ValueId id : graph.inputs) inputs.push_back(names[static_cast<size_t>(id)]);
  for (const graph::ValueId id : graph.outputs) outputs.push_back(names[static_cast<size_t>(id)]);
  module.source = "import os\n\nimport numpy\nimport torch\nimport torch.nn.functional as F\n" +
                  std::string(pytorch_helpers) +
                  "\n\nclass Model(torch.nn.Module):\n"
                  "    def __init__(self, weights=None):\n"
                  "        super().__init__()\n"
                  "        if weights is None:\n"
                  "            folder = os.path.dirname(os.path.abspath(__file__))\n"
                  "            weights = numpy.load(os.path.join(folder, \"" +
                  weights_file + "\"))\n" + weights +
                  "\n    def _weight(self, name, weights):\n"
                  "        tensor = torch.from_numpy(numpy.array(weights[name]))\n"
                  "        if tensor.is_floating_point():\n"
                  "            self.register_parameter(name, torch.nn.Parameter(tensor))\n"
                  "        else:\n"
                  "            self.register_buffer(name, tensor)\n"
                  "\n    def forward(self, " +
                  joined(inputs) + "):\n" + body + "        return " + joined(outputs) + "\n";
  return module;
}

void export_pytorch(const graph::Model& model, const std::string& path) {
  std::filesystem::path weights = path;
  weights.replace_extension(".npz");
  if (weights == std::filesystem::path(path))
    throw UserError("'" + path + "' would be overwritten by its weights; name it .py");
  const PytorchModule module = pytorch_module(model, weights.filename().string());
  write_npz(weights.string(), module.weights);
  write_file(path, module.source);
}

}  // namespace opsmith::exporter
