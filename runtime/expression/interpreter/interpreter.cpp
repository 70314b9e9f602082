#include "runtime/expression/interpreter.h"

#include <cmath>
#include <limits>

#include "runtime/expression/interpreter/functions.h"
#include "runtime/expression/interpreter/scalar_code.h"
#include "runtime/expression/visit.h"
#include "support/error.h"

namespace opsmith::expression {
namespace {

using interpreter::IndexCode;
using interpreter::ScalarCode;
using interpreter::ScalarContext;
using interpreter::Value;

/// Calls visit() with the iterators at `place` set to every point of the box, the last fastest.
template <typename Visit>
void for_each_point(const Shape& extents, int64_t* place, Visit visit) {
  if (element_count(extents) == 0) return;
  std::fill_n(place, extents.size(), 0);
  while (true) {
    visit();
    size_t axis = extents.size();
    while (axis > 0 && ++place[axis - 1] == extents[axis - 1]) place[--axis] = 0;
    if (axis == 0) return;
  }
}

/// The reduction of nothing: for integers, the identity within the type.
Value identity(Reduction reduction, ElementType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduction) {
    case Reduction::Product:
      return interpreter::from_double(1, type);
    case Reduction::Maximum:
      return interpreter::from_double(type == ElementType::Bool ? 0 : -kInfinity, type);
    case Reduction::Minimum:
      return interpreter::from_double(kInfinity, type);
    default:
      return interpreter::from_double(0, type);
  }
}

Binary combination(Reduction reduction) {
  switch (reduction) {
    case Reduction::Product:
      return Binary::Multiply;
    case Reduction::Maximum:
      return Binary::Maximum;
    case Reduction::Minimum:
      return Binary::Minimum;
    default:
      return Binary::Add;
  }
}

Shape extents_of(const std::vector<Axis>& axes) {
  Shape extents;
  for (const Axis& axis : axes) extents.push_back(axis.extent.value());
  return extents;
}

Shape constant_shape(const std::vector<Index>& shape) {
  Shape result;
  for (const Index& extent : shape) result.push_back(extent.value());
  return result;
}

class StageEvaluation {
 public:
  StageEvaluation(const Program& program, const Stage& stage, const Tensors& tensors)
      : stage_(stage), outer_(extents_of(stage.axes)), inner_(extents_of(stage.reduction_axes)) {
    context_.fill = stage.fill;
    context_.reduced_type = reduced_type(program, stage);
    context_.tensor = [&](const std::string& name) -> const Tensor& { return tensors.at(name); };
    for (const auto* axes : {&stage.axes, &stage.reduction_axes}) {
      for (const Axis& axis : *axes) context_.slots.emplace(axis.name, context_.slots.size());
    }
    iterators_.resize(context_.slots.size() + 1);
  }

  Tensor evaluate() { return stage_.scatters() ? scatter() : gather(); }

 private:
  Tensor gather() {
    Tensor result(stage_.type, outer_);
    const bool reduces = stage_.reduction != Reduction::None;
    // Without an epilogue what is stored is the reduced value itself.
    const ElementType type = reduces || stage_.epilogue ? context_.reduced_type : stage_.type;
    const ScalarCode body(stage_.body, type, context_);
    const ScalarCode epilogue(stage_.epilogue.value_or(Scalar::reduced()), stage_.type,
                              with_reduced_type(type));
    const Value start = identity(stage_.reduction, type);
    const Binary combine = combination(stage_.reduction);
    int64_t at = 0;
    for_each_point(outer_, iterators_.data(), [&] {
      Value value = start;
      if (reduces) {
        for_each_point(inner_, iterators_.data() + outer_.size(), [&] {
          value = interpreter::apply(combine, type, value, body.evaluate(iterators_.data(), {}));
        });
      } else {
        value = body.evaluate(iterators_.data(), {});
      }
      interpreter::store(result.raw(), stage_.type, at++,
                         epilogue.evaluate(iterators_.data(), value));
    });
    return result;
  }

  Tensor scatter() {
    const Shape shape = constant_shape(stage_.target_shape);
    // Sums of floats stay in double until the end.
    const ElementType type = is_float(stage_.type) ? ElementType::Float64 : stage_.type;
    Tensor sums = Tensor::zeros(type, shape);
    const ScalarCode body(stage_.body, type, context_);
    std::vector<IndexCode> target;
    for (const Index& index : stage_.target) target.emplace_back(index, context_.slots);
    for_each_point(outer_, iterators_.data(), [&] {
      int64_t offset = 0;
      for (size_t i = 0; i < shape.size(); ++i) {
        int64_t index = 0;
        if (!target[i].evaluate(iterators_.data(), index)) return;
        if (index < 0 || index >= shape[i]) return;
        offset = offset * shape[i] + index;
      }
      const Value sum =
          interpreter::apply(Binary::Add, type, interpreter::load(sums.raw(), type, offset),
                             body.evaluate(iterators_.data(), {}));
      interpreter::store(sums.raw(), type, offset, sum);
    });
    return sums.cast(stage_.type);
  }

  ScalarContext with_reduced_type(ElementType type) const {
    ScalarContext context = context_;
    context.reduced_type = type;
    return context;
  }

  const Stage& stage_;
  Shape outer_;
  Shape inner_;
  ScalarContext context_;
  std::vector<int64_t> iterators_;
};

void check_argument(const Program& program, const TensorDeclaration& declaration,
                    const Tensors& tensors) {
  const auto found = tensors.find(declaration.name);
  const std::string where = "program " + program.name + ": tensor '" + declaration.name + "' ";
  if (found == tensors.end()) throw UserError(where + "is missing");
  if (found->second.type() != declaration.type) {
    throw UserError(where + "is " + opsmith::to_string(found->second.type()) + ", not " +
                    opsmith::to_string(declaration.type));
  }
}

/// Every extent is a number that is not negative, and their product one that can be counted.
void check_domain(const Stage& stage) {
  std::vector<Index> domain;
  for (const auto* axes : {&stage.axes, &stage.reduction_axes}) {
    for (const Axis& axis : *axes) domain.push_back(axis.extent);
  }
  size_of(domain, stage.name);
  size_of(stage.shape(), stage.name);
}

}  // namespace

Tensors interpret(const Program& program, const Tensors& tensors, const Binding& binding) {
  validate(program);
  std::map<std::string, Shape> shapes;
  Tensors known;
  for (const auto* declarations : {&program.inputs, &program.weights}) {
    for (const TensorDeclaration& declaration : *declarations) {
      check_argument(program, declaration, tensors);
      const Tensor& tensor = tensors.at(declaration.name);
      shapes[declaration.name] = tensor.shape();
      known[declaration.name] = tensor;
    }
  }
  const Program bound = instantiate(program, infer_binding(program, shapes, binding));
  const auto symbols = bound.symbols();
  if (!symbols.empty()) {
    throw UserError("program " + program.name + ": size '" + symbols[0] + "' is not bound");
  }
  for (const Stage& stage : bound.stages) {
    check_domain(stage);
    known[stage.name] = StageEvaluation(bound, stage, known).evaluate();
  }
  Tensors outputs;
  for (const std::string& output : bound.outputs) outputs[output] = known.at(output);
  return outputs;
}

}  // namespace opsmith::expression
