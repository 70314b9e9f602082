#include "substitute/rewriting/rewrite.h"

#include <algorithm>

#include "runtime/expression/program.h"
#include "support/error.h"
#include "support/hash.h"

namespace opsmith::substitute {

namespace {

const std::string kDomain = "opsmith";

/// "grouped-then-pointwise g=4" as an identifier.
std::string identifier(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (letter) {
      result += c;
    } else if (!result.empty() && result.back() != '_') {
      result += '_';
    }
  }
  return result;
}

/// Names a body by all that decides it, so that equal bodies share a function.
std::string function_name(const Candidate& candidate, const LayerShape& layer, int64_t opset) {
  const std::string hash = Hasher()
                               .text(expression::print(candidate.program))
                               .number(layer.height)
                               .number(layer.width)
                               .number(opset)
                               .hex();
  return identifier(candidate.name) + "_" + hash.substr(0, 8);
}

}  // namespace

void replace_target(graph::Model& model, const Target& target, const Candidate& candidate,
                    const std::vector<Tensor>& weights, const Tensor& bias) {
  require(weights.size() == candidate.program.weights.size(),
          "operator " + candidate.name + " takes another number of weights");
  const std::string name = function_name(candidate, target.shape, model.opset());
  if (model.find_function(kDomain, name) == nullptr) {
    model.functions.push_back(
        onnx_function(candidate, target.shape, model.opset(), name, /*with_bias=*/true));
  }
  graph::Graph& graph = model.graph;
  const std::string prefix = target.name.empty() ? name : target.name;
  std::vector<graph::ValueId> inputs = {target.input(graph)};
  for (size_t i = 0; i < weights.size(); ++i) {
    inputs.push_back(
        graph.add_constant(prefix + "." + candidate.program.weights[i].name, weights[i]));
  }
  inputs.push_back(graph.add_constant(prefix + ".bias", bias));
  graph::Node& node = graph.nodes.at(static_cast<size_t>(target.node));
  node.domain = kDomain;
  node.type = name;
  node.inputs = std::move(inputs);
  node.attributes = {{"program", expression::print(candidate.program)}};
  model.opsets[kDomain] = 1;
  model.ir_version = std::max<int64_t>(model.ir_version, 8);
}

}  // namespace opsmith::substitute
