#include <algorithm>

#include "runtime/compiler/directives/directive.h"

namespace opsmith::compiler::directives {

/// axes: the tensor to copy and the name of its copy; argument: the layout of the copy. `stage`
/// then reads the copy, which a stage of its own makes in the workspace.
void pack(LoopNest& nest, const schedule::Directive& directive) {
  StageNest& reader = nest.stage(directive);
  if (directive.axes.size() != 2) refuse(directive, "it needs a tensor and the name of its copy");
  const std::string& tensor = directive.axes[0];
  const std::string& copy = directive.axes[1];
  const std::vector<expression::Scalar> all = expression::reads(reader.stage.body);
  const bool is_read = std::any_of(all.begin(), all.end(),
                                   [&](const auto& read) { return read.tensor() == tensor; });
  if (!is_read) refuse(directive, "its body does not read '" + tensor + "'");
  if (copy.empty() || nest.layouts.count(copy) != 0) {
    refuse(directive, "the name '" + copy + "' is taken or empty");
  }
  expression::Stage stage;
  stage.name = copy;
  stage.type = nest.program.type_of(tensor);
  stage.accumulation = stage.type;
  std::vector<expression::Index> indices;
  for (const expression::Index& extent : nest.program.shape_of(tensor)) {
    const std::string axis = "p" + std::to_string(indices.size());
    stage.axes.push_back({axis, extent});
    indices.push_back(expression::Index::iterator(axis));
  }
  stage.body = expression::Scalar::read(tensor, indices);

  const auto redirect = [&](const expression::Scalar& node) {
    if (node.kind() != expression::Scalar::Kind::Read || node.tensor() != tensor) return node;
    return expression::Scalar::read(copy, node.indices());
  };
  reader.stage.body = expression::transform(reader.stage.body, redirect);
  auto& stages = nest.program.stages;
  const auto at = std::find_if(stages.begin(), stages.end(), [&](const expression::Stage& s) {
    return s.name == directive.stage;
  });
  at->body = reader.stage.body;
  nest.layouts[copy] = schedule::parse_layout(directive.argument);
  const auto position = at - stages.begin();
  stages.insert(at, stage);
  nest.stages.insert(nest.stages.begin() + position, make_nest(stage));
}

}  // namespace opsmith::compiler::directives
