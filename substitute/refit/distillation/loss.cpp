#include "substitute/refit/distillation/loss.h"

#include "runtime/expression/program.h"
#include "substitute/refit/backward/stage_node.h"
#include "support/error.h"

namespace opsmith::substitute {

namespace {

using expression::Axis;
using expression::Binary;
using expression::Index;
using expression::Program;
using expression::Reduction;
using expression::Scalar;
using expression::Stage;
using expression::Unary;

std::vector<Index> places(size_t rank) {
  std::vector<Index> indices;
  for (size_t d = 0; d < rank; ++d) indices.push_back(Index::iterator("i" + std::to_string(d)));
  return indices;
}

std::vector<Axis> axes_of(const Shape& shape) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    axes.push_back({"i" + std::to_string(d), Index(shape[d])});
  }
  return axes;
}

/// A stage of one number: the sum of `body` over all elements of a shape.
Stage sum_of_all(const Shape& shape, Scalar body) {
  Stage stage;
  stage.name = "loss";
  stage.axes = {{"one", Index(1)}};
  stage.reduction = Reduction::Sum;
  stage.reduction_axes = axes_of(shape);
  stage.body = std::move(body);
  return stage;
}

/// A stage over a shape, or over all but its last dimension when it reduces that.
Stage stage_over(const std::string& name, Shape shape, Reduction reduction, Scalar body) {
  Stage stage;
  stage.name = name;
  stage.body = std::move(body);
  stage.reduction = reduction;
  if (reduction != Reduction::None) {
    stage.reduction_axes = {{"i" + std::to_string(shape.size() - 1), Index(shape.back())}};
    shape.pop_back();
  }
  stage.axes = axes_of(shape);
  return stage;
}

std::vector<Stage> squares(const Shape& shape, double scale) {
  const Scalar difference =
      Scalar::read("z", places(shape.size())) - Scalar::read("t", places(shape.size()));
  return {sum_of_all(shape, difference * difference * Scalar::constant(scale))};
}

/// -sum t log softmax(z / T), the largest subtracted before exponentials.
std::vector<Stage> cross_entropy(const Shape& shape, double scale, double temperature) {
  const std::vector<Index> all = places(shape.size());
  const std::vector<Index> row = places(shape.size() - 1);
  const Scalar z = Scalar::read("z", all) * Scalar::constant(1 / temperature);
  const Scalar shifted = z - Scalar::read("largest", row);
  const Scalar log_total = Scalar::unary(Unary::Log, Scalar::read("total", row));
  return {stage_over("largest", shape, Reduction::Maximum, z),
          stage_over("total", shape, Reduction::Sum, Scalar::unary(Unary::Exp, shifted)),
          sum_of_all(shape, Scalar::read("t", all) * (log_total - shifted) *
                                Scalar::constant(scale * temperature * temperature))};
}

}  // namespace

std::string to_string(LossKind kind) {
  return kind == LossKind::Divergence ? "Kullback-Leibler divergence" : "relative L2";
}

graph::ValueId append_loss(graph::Model& model, LossKind kind, graph::ValueId output,
                           graph::ValueId target, double scale, double temperature) {
  graph::Graph& graph = model.graph;
  const Shape shape = known_shape(graph, output);
  require(!shape.empty() && known_shape(graph, target) == shape, "targets of another shape");
  const double mean = scale / static_cast<double>(shape.front());
  Program program;
  program.name = "loss";
  for (const char* name : {"z", "t"}) {
    expression::TensorDeclaration declared{name, ElementType::Float32, {}};
    for (const int64_t extent : shape) declared.shape.emplace_back(extent);
    program.inputs.push_back(std::move(declared));
  }
  const bool rows = kind == LossKind::Divergence;
  require(!rows || shape.size() >= 2, "a divergence needs scores of several classes");
  program.stages = rows ? cross_entropy(shape, mean, temperature) : squares(shape, mean);
  program.outputs = {"loss"};
  std::map<std::string, graph::ValueId> tensors = {{"z", output}, {"t", target}};
  for (const Stage& stage : program.stages) {
    graph::Node node = make_stage_node(graph, program, stage, tensors, "loss." + stage.name);
    tensors[stage.name] = node.outputs.front();
    graph.nodes.push_back(std::move(node));
  }
  model.opsets["opsmith"] = 1;
  return tensors.at("loss");
}

}  // namespace opsmith::substitute
