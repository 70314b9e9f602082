#include "runtime/expression/program.h"

#include <set>

#include "runtime/expression/visit.h"
#include "support/error.h"

namespace opsmith::expression {

std::vector<Index> Stage::shape() const {
  if (scatters()) return target_shape;
  std::vector<Index> extents;
  extents.reserve(axes.size());
  for (const Axis& axis : axes) extents.push_back(axis.extent);
  return extents;
}

const Stage* Program::find_stage(const std::string& stage_name) const {
  for (const Stage& stage : stages) {
    if (stage.name == stage_name) return &stage;
  }
  return nullptr;
}

namespace {

const TensorDeclaration* find_declaration(const Program& program, const std::string& tensor) {
  for (const auto* declarations : {&program.inputs, &program.weights}) {
    for (const TensorDeclaration& declaration : *declarations) {
      if (declaration.name == tensor) return &declaration;
    }
  }
  return nullptr;
}

[[noreturn]] void no_such_tensor(const Program& program, const std::string& tensor) {
  throw InternalError("program " + program.name + " has no tensor '" + tensor + "'");
}

}  // namespace

std::vector<Index> Program::shape_of(const std::string& tensor_name) const {
  if (const auto* declaration = find_declaration(*this, tensor_name)) return declaration->shape;
  if (const Stage* stage = find_stage(tensor_name)) return stage->shape();
  no_such_tensor(*this, tensor_name);
}

ElementType Program::type_of(const std::string& tensor_name) const {
  if (const auto* declaration = find_declaration(*this, tensor_name)) return declaration->type;
  if (const Stage* stage = find_stage(tensor_name)) return stage->type;
  no_such_tensor(*this, tensor_name);
}

ElementType reduced_type(const Program& program, const Stage& stage) {
  if (stage.reduction != Reduction::None) return stage.accumulation;
  const auto tensor_type = [&](const std::string& tensor) { return program.type_of(tensor); };
  const ElementType type = type_of(stage.body, tensor_type, ElementType::Undefined);
  return type == ElementType::Undefined ? stage.type : type;
}

std::vector<std::string> Program::symbols() const {
  std::set<std::string> found;
  transform_program_indices(*this, [&](const Index& index, const Stage*) {
    visit(index, [&](const Index& node) {
      if (node.kind() == Index::Kind::Symbol) found.insert(node.name());
    });
    return index;
  });
  return {found.begin(), found.end()};
}

Program transform_program_indices(Program program,
                                  const std::function<Index(const Index&, const Stage*)>& rewrite) {
  for (auto* declarations : {&program.inputs, &program.weights}) {
    for (TensorDeclaration& declaration : *declarations) {
      for (Index& extent : declaration.shape) extent = rewrite(extent, nullptr);
    }
  }
  for (Stage& stage : program.stages) {
    for (auto* axes : {&stage.axes, &stage.reduction_axes}) {
      for (Axis& axis : *axes) axis.extent = rewrite(axis.extent, nullptr);
    }
    for (Index& extent : stage.target_shape) extent = rewrite(extent, nullptr);
    const auto inside = [&](const Index& index) { return rewrite(index, &stage); };
    for (Index& index : stage.target) index = inside(index);
    stage.body = transform_indices(stage.body, inside);
    if (stage.epilogue) stage.epilogue = transform_indices(*stage.epilogue, inside);
  }
  return program;
}

Ranges ranges_of(const Stage& stage) {
  Ranges ranges;
  for (const auto* axes : {&stage.axes, &stage.reduction_axes}) {
    for (const Axis& axis : *axes) {
      if (axis.extent.is_constant()) ranges[axis.name] = {0, axis.extent.value()};
    }
  }
  return ranges;
}

Program instantiate(const Program& program, const Binding& binding) {
  std::map<std::string, Index> sizes;
  for (const auto& [symbol, size] : binding) sizes.emplace(symbol, size);
  const auto bound = [&](const Index& leaf) -> const Index* {
    if (leaf.kind() != Index::Kind::Symbol) return nullptr;
    const auto found = sizes.find(leaf.name());
    return found == sizes.end() ? nullptr : &found->second;
  };
  // Extents stand before the indices of their stage, so its ranges are known by then.
  return transform_program_indices(program, [&](const Index& index, const Stage* stage) {
    return simplify(substitute(index, bound), stage ? ranges_of(*stage) : Ranges());
  });
}

int64_t size_of(const std::vector<Index>& shape, const std::string& owner) {
  int64_t size = 1;
  for (const Index& extent : shape) {
    if (!extent.is_constant()) {
      throw UserError("size " + to_string(extent) + " of '" + owner + "' is no number");
    }
    if (extent.value() < 0) throw UserError("a size of '" + owner + "' is negative");
    if (__builtin_mul_overflow(size, extent.value(), &size)) {
      throw UserError("the size of '" + owner + "' overflows 64 bits");
    }
  }
  return size;
}

namespace {

/// Reads multiplied with each other; terms of a sum and branches of a select count as their
/// largest.
int64_t factors(const Scalar& scalar) {
  switch (scalar.kind()) {
    case Scalar::Kind::Read:
      return 1;
    case Scalar::Kind::Binary:
      if (scalar.binary_function() == Binary::Multiply) {
        return factors(scalar.operand(0)) + factors(scalar.operand(1));
      }
      break;
    default:
      break;
  }
  int64_t most = 0;
  for (const Scalar& operand : scalar.operands()) most = std::max(most, factors(operand));
  return most;
}

}  // namespace

int64_t multiply_accumulates(const Stage& stage) {
  if (stage.reduction != Reduction::Sum && !stage.scatters()) return 0;
  std::vector<Index> domain;
  for (const auto* axes : {&stage.axes, &stage.reduction_axes}) {
    for (const Axis& axis : *axes) domain.push_back(axis.extent);
  }
  return size_of(domain, stage.name) * std::max<int64_t>(factors(stage.body) - 1, 1);
}

int64_t multiply_accumulates(const Program& instantiated) {
  int64_t total = 0;
  for (const Stage& stage : instantiated.stages) total += multiply_accumulates(stage);
  return total;
}

int64_t parameter_count(const Program& instantiated) {
  int64_t total = 0;
  for (const auto& weight : instantiated.weights) total += size_of(weight.shape, weight.name);
  return total;
}

}  // namespace opsmith::expression
