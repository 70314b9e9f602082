#include <gtest/gtest.h>

#include <cstdlib>

#include "exporter/pytorch/module.h"
#include "search/synthesis/canvas/realisation.h"
#include "search/synthesis/canvas/sampler.h"
#include "support/file.h"
#include "support/npz.h"
#include "tests/search/synthesis/canvas/layers.h"
#include "tests/substitute/operator/tensors.h"
#include "tests/support/temporary_folder.h"

namespace opsmith::synthesis {
namespace {

/// A model of one layer whose operator is the candidate, with random weights.
graph::Model model_of(const substitute::Candidate& candidate, const substitute::LayerShape& layer,
                      const expression::Tensors& tensors) {
  graph::Model model;
  model.opsets = {{"", 17}, {"opsmith", 1}};
  model.functions.push_back(onnx_function(candidate, layer, 17, "f", false));
  graph::Graph& graph = model.graph;
  graph::Value x;
  x.name = "x";
  x.type = ElementType::Float32;
  graph.inputs = {graph.add_value(x)};
  std::vector<graph::ValueId> inputs = graph.inputs;
  for (const auto& weight : candidate.program.weights)
    inputs.push_back(graph.add_constant(weight.name, tensors.at(weight.name)));
  graph.outputs = {graph.add_node("f", inputs, {}, 1, "opsmith", "node")};
  return model;
}

/// Operators of the catalogue and of Canvas's space as PyTorch modules, run by Python.
TEST(Pytorch, ModulesAgreeWithTheInterpreter) {
  if (std::system("python3 -c 'import torch' > /dev/null 2>&1") != 0 &&
      std::system("/usr/bin/python3 -c 'import torch' > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "python3-torch is not installed";
  const std::string python = std::system("python3 -c 'import torch' > /dev/null 2>&1") == 0
                                 ? "python3"
                                 : "/usr/bin/python3";
  std::vector<std::pair<substitute::Candidate, substitute::LayerShape>> candidates;
  const substitute::LayerShape wide = canvas::testing::convolution(16, 16, 6, 5);
  for (const substitute::Candidate& candidate : substitute::catalogue(wide))
    candidates.emplace_back(candidate, wide);
  const std::vector<substitute::LayerShape> layers = canvas::testing::small_layers();
  canvas::SamplingOptions options;
  options.kernels = 12;
  const auto result = canvas::sample(layers, canvas::testing::small_limits(), options);
  for (size_t i = 0; i < result.samples.size(); ++i) {
    const canvas::Sample& sample = result.samples[i];
    const canvas::Targets targets(layers, sample.groups);
    const size_t layer = i % layers.size();
    candidates.emplace_back(canvas::candidate(sample.kernel, targets, sample.solution, layer),
                            layers[layer]);
  }

  const opsmith::testing::TemporaryFolder folder;
  std::vector<Tensor> expected;
  std::string script = "import sys\nsys.path.insert(0, '" + folder.path() +
                       "')\nimport numpy, torch\nmade = {}\nwith torch.no_grad():\n";
  for (size_t i = 0; i < candidates.size(); ++i) {
    const auto& [candidate, layer] = candidates[i];
    const expression::Binding sizes = {{"N", 2}, {"H", layer.height}, {"W", layer.width}};
    const expression::Program program = expression::instantiate(candidate.program, sizes);
    const expression::Tensors tensors = substitute::testing::random_tensors(program, i + 1);
    expected.push_back(
        expression::interpret(candidate.program, tensors, sizes).at(program.outputs[0]));
    const std::string name = "m" + std::to_string(i);
    exporter::export_pytorch(model_of(candidate, layer, tensors),
                             folder.path() + "/" + name + ".py");
    write_npz(folder.path() + "/x" + name + ".npz", {{"x", tensors.at("x")}});
    script += "    import " + name + "\n    x = torch.from_numpy(numpy.load('" + folder.path() +
              "/x" + name + ".npz')['x'])\n    made['" + name + "'] = " + name +
              ".Model()(x).numpy()\n";
  }
  script += "numpy.savez('" + folder.path() + "/made.npz', **made)\n";
  write_file(folder.path() + "/run.py", script);
  ASSERT_EQ(std::system((python + " " + folder.path() + "/run.py").c_str()), 0);
  const std::map<std::string, Tensor> made = read_npz(folder.path() + "/made.npz");
  ASSERT_EQ(made.size(), candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i)
    EXPECT_LE(relative_error(made.at("m" + std::to_string(i)), expected[i]), 1e-4)
        << candidates[i].first.text;
}

}  // namespace
}  // namespace opsmith::synthesis
