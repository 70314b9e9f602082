#include <map>

#include "runtime/expression/canonical.h"
#include "runtime/expression/visit.h"
#include "support/hash.h"

namespace opsmith::expression {

// By place, with names that no size symbol has.
Program canonical_names(Program program) {
  program.name = "$";
  std::map<std::string, std::string> tensors;
  const auto rename = [&](std::string& name) {
    const std::string fresh = "$" + std::to_string(tensors.size());
    name = tensors.try_emplace(name, fresh).first->second;
  };
  for (auto& input : program.inputs) rename(input.name);
  for (auto& weight : program.weights) rename(weight.name);
  for (Stage& stage : program.stages) {
    std::map<std::string, Index> iterators;
    for (auto* axes : {&stage.axes, &stage.reduction_axes}) {
      for (Axis& axis : *axes) {
        const std::string fresh = "$" + std::to_string(iterators.size());
        iterators.emplace(axis.name, Index::iterator(fresh));
        axis.name = fresh;
      }
    }
    const auto replacement = [&](const Index& leaf) -> const Index* {
      if (leaf.kind() != Index::Kind::Iterator) return nullptr;
      const auto found = iterators.find(leaf.name());
      return found == iterators.end() ? nullptr : &found->second;
    };
    // Terms are ordered by name: simplified anew, their order no longer tells the old names.
    const Ranges ranges = ranges_of(stage);
    const auto index = [&](const Index& old) {
      return simplify(substitute(old, replacement), ranges);
    };
    const auto scalar = [&](const Scalar& old) {
      return transform(transform_indices(old, index), [&](const Scalar& node) {
        if (node.kind() != Scalar::Kind::Read) return node;
        const auto found = tensors.find(node.tensor());
        return found == tensors.end() ? node : Scalar::read(found->second, node.indices());
      });
    };
    for (Index& target : stage.target) target = index(target);
    stage.body = scalar(stage.body);
    if (stage.epilogue) stage.epilogue = scalar(*stage.epilogue);
    rename(stage.name);
  }
  for (std::string& output : program.outputs) {
    const auto found = tensors.find(output);
    if (found != tensors.end()) output = found->second;
  }
  return program;
}

std::string content_hash(const Program& program) {
  return Hasher().text(print(canonical_names(program))).hex();
}

}  // namespace opsmith::expression
