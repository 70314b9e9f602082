#include <cmath>
#include <map>
#include <set>

#include "runtime/expression/program.h"
#include "support/error.h"

namespace opsmith::expression {
namespace {

class Validator {
 public:
  explicit Validator(const Program& program) : program_(program) {}

  void check() {
    for (const auto* declarations : {&program_.inputs, &program_.weights}) {
      for (const TensorDeclaration& declaration : *declarations) {
        check_type(declaration.type, "tensor", declaration.name);
        for (const Index& extent : declaration.shape) check_extent(extent, declaration.name);
        declare(declaration.name, declaration.shape.size());
      }
    }
    for (const Stage& stage : program_.stages) {
      check_stage(stage);
      declare(stage.name, stage.shape().size());
    }
    if (program_.outputs.empty()) fault("it has no output");
    std::set<std::string> outputs;
    for (const std::string& output : program_.outputs) {
      if (!program_.find_stage(output)) fault("output '" + output + "' is not a stage");
      if (!outputs.insert(output).second) fault("output '" + output + "' is named twice");
    }
  }

 private:
  [[noreturn]] void fault(const std::string& what) const {
    throw UserError("program " + program_.name + ": " + what);
  }

  void declare(const std::string& name, size_t rank) {
    if (name.empty()) fault("a tensor has no name");
    if (!ranks_.emplace(name, rank).second) fault("tensor '" + name + "' is made twice");
  }

  void check_type(ElementType type, const std::string& what, const std::string& name) const {
    const bool narrow = is_float8(type) || type == ElementType::UInt4 || type == ElementType::Int4;
    if (!is_plain_data(type) || narrow) {
      fault(what + " '" + name + "' has no numeric element type");
    }
  }

  /// Extents hold sizes only.
  void check_extent(const Index& extent, const std::string& owner) const {
    visit(extent, [&](const Index& node) {
      if (node.kind() == Index::Kind::Iterator) {
        fault("a size of '" + owner + "' depends on iterator " + node.name());
      }
      if (node.kind() == Index::Kind::Within) fault("a size of '" + owner + "' has a `within`");
      if (node.is_constant() && node.value() < 0 && &node == &extent) {
        fault("a size of '" + owner + "' is negative");
      }
    });
  }

  void check_stage(const Stage& stage) {
    const std::string where = "stage '" + stage.name + "': ";
    check_type(stage.type, "stage", stage.name);
    check_type(stage.accumulation, "accumulation of stage", stage.name);
    std::set<std::string> outer, all;
    for (const auto* axes : {&stage.axes, &stage.reduction_axes}) {
      for (const Axis& axis : *axes) {
        check_extent(axis.extent, stage.name);
        if (!all.insert(axis.name).second) fault(where + "iterator " + axis.name + " comes twice");
        if (axes == &stage.axes) outer.insert(axis.name);
      }
    }
    if (stage.reduction == Reduction::None && !stage.reduction_axes.empty()) {
      fault(where + "it has reduction axes but no reduction");
    }
    if (std::isnan(stage.fill)) fault(where + "its fill is not a number");
    if (stage.target.size() != stage.target_shape.size()) {
      fault(where + "its target has another rank than its target shape");
    }
    if (stage.scatters()) {
      if (stage.reduction != Reduction::None || stage.epilogue) {
        fault(where + "a scatter stage has neither reduction nor epilogue");
      }
      for (const Index& extent : stage.target_shape) check_extent(extent, stage.name);
      for (const Index& index : stage.target) check_index(index, all, where);
    }
    check_scalar(stage.body, all, false, where);
    if (stage.epilogue) check_scalar(*stage.epilogue, outer, true, where + "epilogue: ");
  }

  void check_index(const Index& index, const std::set<std::string>& iterators,
                   const std::string& where) const {
    visit(index, [&](const Index& node) {
      if (node.kind() == Index::Kind::Iterator && !iterators.contains(node.name())) {
        fault(where + "iterator " + node.name() + " in " + to_string(index) + " is not bound");
      }
      if (node.kind() == Index::Kind::Symbol && iterators.contains(node.name())) {
        fault(where + "size " + node.name() + " in " + to_string(index) +
              " has the name of an iterator");
      }
    });
  }

  void check_scalar(const Scalar& scalar, const std::set<std::string>& iterators, bool epilogue,
                    const std::string& where) const {
    if (scalar.kind() == Scalar::Kind::Reduced && !epilogue) {
      fault(where + "_ stands outside an epilogue");
    }
    if (scalar.kind() == Scalar::Kind::Cast) check_type(scalar.type(), "cast in", where);
    if (scalar.kind() == Scalar::Kind::Read) {
      const auto found = ranks_.find(scalar.tensor());
      if (found == ranks_.end()) {
        fault(where + (program_.find_stage(scalar.tensor())
                           ? "it reads stage '" + scalar.tensor() + "' before that is made"
                           : "it reads '" + scalar.tensor() + "', which is not declared"));
      }
      if (found->second != scalar.indices().size()) {
        fault(where + "it reads '" + scalar.tensor() + "' of rank " +
              std::to_string(found->second) + " with " + std::to_string(scalar.indices().size()) +
              " indices");
      }
    }
    if (scalar.kind() == Scalar::Kind::Position && scalar.indices()[0].has_within()) {
      fault(where + "a position has a `within`, but no read that it could guard");
    }
    for (const Index& index : scalar.indices()) check_index(index, iterators, where);
    for (const Scalar& operand : scalar.operands()) {
      check_scalar(operand, iterators, epilogue, where);
    }
  }

  const Program& program_;
  std::map<std::string, size_t> ranks_;
};

}  // namespace

void validate(const Program& program) { Validator(program).check(); }

}  // namespace opsmith::expression
