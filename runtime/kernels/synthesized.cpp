#include <algorithm>
#include <map>

#include "runtime/kernels/families.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

using expression::Axis;
using expression::Index;
using expression::Program;
using expression::Scalar;
using expression::Stage;

// Products are written for [M, K]; a tensor of more dimensions is taken by replacing the axis over
// M by one axis for each leading dimension, in every stage and every read.
Program split_rows(const Program& program, const Shape& leading, const graph::Node& node) {
  Program result = program;
  const std::string rows = "M";
  std::vector<std::string> row_tensors;
  auto is_rows = [&](const Index& extent) {
    return extent.kind() == Index::Kind::Symbol && extent.name() == rows;
  };
  auto refuse = [&]() -> Unsupported {
    return Unsupported(describe(node) + ": its program uses the rows otherwise than one by one, " +
                       "so only inputs of two dimensions can be taken");
  };
  for (auto& declaration : result.inputs) {
    if (declaration.shape.empty() || !is_rows(declaration.shape[0])) continue;
    row_tensors.push_back(declaration.name);
    declaration.shape.erase(declaration.shape.begin());
    declaration.shape.insert(declaration.shape.begin(), leading.begin(), leading.end());
  }
  for (Stage& stage : result.stages) {
    if (stage.axes.empty() || !is_rows(stage.axes[0].extent) || stage.scatters()) throw refuse();
    row_tensors.push_back(stage.name);
    std::string row = stage.axes[0].name;
    std::vector<Axis> axes;
    std::vector<Index> positions;
    for (size_t i = 0; i < leading.size(); ++i) {
      axes.push_back({row + "_" + std::to_string(i), Index(leading[i])});
      positions.push_back(Index::iterator(axes.back().name));
    }
    axes.insert(axes.end(), stage.axes.begin() + 1, stage.axes.end());
    stage.axes = std::move(axes);
    auto rewrite = [&](const Scalar& scalar) {
      if (scalar.kind() != Scalar::Kind::Read) return scalar;
      if (std::find(row_tensors.begin(), row_tensors.end(), scalar.tensor()) == row_tensors.end()) {
        return scalar;
      }
      std::vector<Index> indices = scalar.indices();
      if (indices[0].kind() != Index::Kind::Iterator || indices[0].name() != row) throw refuse();
      indices.erase(indices.begin());
      indices.insert(indices.begin(), positions.begin(), positions.end());
      return Scalar::read(scalar.tensor(), std::move(indices));
    };
    stage.body = transform(stage.body, rewrite);
    if (stage.epilogue) stage.epilogue = transform(*stage.epilogue, rewrite);
  }
  return result;
}

// A node of domain opsmith whose attribute `program` holds its program text. Node inputs are the
// program's inputs, then its weights, then, when there is one more, a bias along the output's
// channels (dimension 1 of a convolution, the last of a product).
std::optional<Lowered> lower_synthesized(const graph::Node& node, const LoweringContext& context) {
  std::string text = node.text("program", "");
  if (text.empty()) {
    throw Unsupported(describe(node) + ": no attribute 'program' and no function to inline");
  }
  Program program = expression::parse(text);
  size_t declared = program.inputs.size() + program.weights.size();
  size_t given = context.input_shapes.size();
  if ((given != declared && given != declared + 1) || program.outputs.size() != 1) {
    throw UserError(describe(node) + ": " + std::to_string(given) + " inputs for a program of " +
                    std::to_string(declared));
  }
  const Shape& data = context.input_shapes[0];
  bool product = program.inputs[0].shape.size() == 2;
  if (product && data.size() != 2) {
    if (data.empty()) throw UserError(describe(node) + ": a scalar input");
    program = split_rows(program, {data.begin(), data.end() - 1}, node);
  }
  std::map<std::string, Shape> shapes;
  Lowered lowered;
  size_t position = 0;
  for (const auto* declarations : {&program.inputs, &program.weights}) {
    for (const auto& declaration : *declarations) {
      shapes[declaration.name] = context.input_shapes[position];
      lowered.arguments.push_back(static_cast<int>(position++));
    }
  }
  lowered.program = instantiate(program, infer_binding(program, shapes));
  if (given == declared + 1 && context.input_types.back() != ElementType::Undefined) {
    Stage& last = lowered.program.stages.back();
    if (last.name != lowered.program.outputs[0]) {
      throw Unsupported(describe(node) + ": its program's output is not its last stage");
    }
    size_t channel = product ? last.axes.size() - 1 : 1;
    std::string name = "bias";
    while (lowered.program.find_stage(name) != nullptr || shapes.contains(name)) name += "_";
    lowered.program.weights.push_back(
        {name, ElementType::Float32, {Index(context.input_shapes.back().at(0))}});
    lowered.arguments.push_back(static_cast<int>(declared));
    Scalar bias = Scalar::read(name, {Index::iterator(last.axes.at(channel).name)});
    if (last.reduction == expression::Reduction::None) {
      last.body = last.body + bias;
    } else {
      last.epilogue = (last.epilogue ? *last.epilogue : Scalar::reduced()) + bias;
    }
  }
  return lowered;
}

}  // namespace

std::vector<KernelDefinition> synthesized_kernels() {
  return {{"opsmith", lower_synthesized, nullptr}};
}

}  // namespace opsmith::kernels
