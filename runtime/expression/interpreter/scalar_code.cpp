#include "runtime/expression/interpreter/scalar_code.h"

#include "runtime/expression/interpreter/functions.h"
#include "support/error.h"

namespace opsmith::expression::interpreter {
namespace {

bool compares(Binary function) {
  return function == Binary::Less || function == Binary::LessEqual || function == Binary::Equal ||
         function == Binary::And || function == Binary::Or;
}

bool truth(ElementType type, Value value) {
  return is_float(type) ? value.real != 0 : value.integer != 0;
}

}  // namespace

ScalarCode::ScalarCode(const Scalar& scalar, ElementType type, const ScalarContext& context) {
  append(scalar, type, context);
  stack_.resize(code_.size());
}

void ScalarCode::append_conversion(ElementType from, ElementType to) {
  // Floats of all widths are doubles on the stack; only a cast or a store rounds.
  if (from == to || (is_float(from) && is_float(to))) return;
  Operation operation{Scalar::Kind::Cast, is_float(to) ? ElementType::Float64 : to};
  operation.from = from;
  code_.push_back(operation);
}

void ScalarCode::append(const Scalar& scalar, ElementType wanted, const ScalarContext& context) {
  const auto natural = [&](const Scalar& part, ElementType otherwise) {
    const ElementType type = type_of(
        part, [&](const std::string& name) { return context.tensor(name).type(); },
        context.reduced_type);
    return type == ElementType::Undefined ? otherwise : type;
  };
  // A bare constant adapts; what is computed from constants only is computed as a double.
  Operation operation{
      scalar.kind(),
      natural(scalar, scalar.kind() == Scalar::Kind::Constant ? wanted : ElementType::Float64)};
  ElementType result = operation.type;
  switch (scalar.kind()) {
    case Scalar::Kind::Constant:
      // Unrounded where floats are computed: the oracle has the exact constant.
      operation.constant = from_double(
          scalar.value(), is_float(operation.type) ? ElementType::Float64 : operation.type);
      break;
    case Scalar::Kind::Reduced:
      break;
    case Scalar::Kind::Position:
      operation.place = positions_.size();
      positions_.emplace_back(scalar.indices()[0], context.slots);
      break;
    case Scalar::Kind::Read: {
      const Tensor& tensor = context.tensor(scalar.tensor());
      Read read{tensor.raw(),
                tensor.type(),
                tensor.shape(),
                {},
                from_double(context.fill, tensor.type())};
      for (const Index& index : scalar.indices()) read.indices.emplace_back(index, context.slots);
      operation.place = reads_.size();
      reads_.push_back(std::move(read));
      break;
    }
    case Scalar::Kind::Unary: {
      operation.unary = scalar.unary_function();
      // A function of reals takes an integer as a float; Not takes its operand as it is.
      if (operation.unary == Unary::Not) {
        operation.type = natural(scalar.operand(0), ElementType::Float64);
      }
      append(scalar.operand(0), operation.type, context);
      break;
    }
    case Scalar::Kind::Binary:
      operation.binary = scalar.binary_function();
      if (compares(operation.binary)) {
        operation.type = promote(natural(scalar.operand(0), ElementType::Undefined),
                                 natural(scalar.operand(1), ElementType::Undefined));
        if (operation.type == ElementType::Undefined) operation.type = ElementType::Float64;
      }
      append(scalar.operand(0), operation.type, context);
      append(scalar.operand(1), operation.type, context);
      break;
    case Scalar::Kind::Select:
      operation.from = natural(scalar.operand(0), ElementType::Float64);
      append(scalar.operand(0), operation.from, context);
      append(scalar.operand(1), operation.type, context);
      append(scalar.operand(2), operation.type, context);
      break;
    case Scalar::Kind::Cast:
      operation.from = natural(scalar.operand(0), ElementType::Float64);
      append(scalar.operand(0), operation.from, context);
      // Wider floats on the stack must round even when the type stays.
      if (operation.from == operation.type && is_float(operation.from)) {
        operation.from = ElementType::Float64;
      }
      break;
  }
  code_.push_back(operation);
  append_conversion(result, wanted);
}

Value ScalarCode::read(const Read& read, const int64_t* iterators) const {
  int64_t offset = 0;
  for (size_t i = 0; i < read.shape.size(); ++i) {
    int64_t index = 0;
    if (!read.indices[i].evaluate(iterators, index)) return read.fill;
    if (index < 0 || index >= read.shape[i]) return read.fill;
    offset = offset * read.shape[i] + index;
  }
  return load(read.elements, read.type, offset);
}

Value ScalarCode::evaluate(const int64_t* iterators, Value reduced) const {
  Value* top = stack_.data() - 1;
  for (const Operation& operation : code_) {
    switch (operation.kind) {
      case Scalar::Kind::Constant:
        *++top = operation.constant;
        break;
      case Scalar::Kind::Reduced:
        *++top = reduced;
        break;
      case Scalar::Kind::Read:
        *++top = read(reads_[operation.place], iterators);
        break;
      case Scalar::Kind::Position:
        positions_[operation.place].evaluate(iterators, (++top)->integer);
        break;
      case Scalar::Kind::Unary:
        *top = apply(operation.unary, operation.type, *top);
        break;
      case Scalar::Kind::Binary:
        --top;
        *top = apply(operation.binary, operation.type, top[0], top[1]);
        break;
      case Scalar::Kind::Select:
        top -= 2;
        *top = truth(operation.from, top[0]) ? top[1] : top[2];
        break;
      case Scalar::Kind::Cast:
        *top = convert(*top, operation.from, operation.type);
        break;
    }
  }
  return *top;
}

}  // namespace opsmith::expression::interpreter
