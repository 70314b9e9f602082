#include "runtime/expression/scalar.h"

#include <bit>
#include <cmath>

#include "support/error.h"

namespace opsmith::expression {

Scalar Scalar::make(Node node) { return Scalar(std::make_shared<const Node>(std::move(node))); }

Scalar Scalar::constant(double value) {
  Node node;
  node.value = value;
  return make(std::move(node));
}

Scalar Scalar::read(std::string tensor, std::vector<Index> indices) {
  Node node;
  node.kind = Kind::Read;
  node.tensor = std::move(tensor);
  node.indices = std::move(indices);
  return make(std::move(node));
}

Scalar Scalar::reduced() {
  Node node;
  node.kind = Kind::Reduced;
  return make(std::move(node));
}

Scalar Scalar::unary(expression::Unary function, Scalar operand) {
  if (function == expression::Unary::Negate && operand.kind() == Kind::Constant) {
    return constant(-operand.value());
  }
  Node node;
  node.kind = Kind::Unary;
  node.unary = function;
  node.operands = {std::move(operand)};
  return make(std::move(node));
}

Scalar Scalar::binary(expression::Binary function, Scalar left, Scalar right) {
  using expression::Binary;
  const bool constants = left.kind() == Kind::Constant && right.kind() == Kind::Constant;
  const auto is = [](const Scalar& s, double value) {
    return s.kind() == Kind::Constant && s.value() == value;
  };
  switch (function) {
    case Binary::Add:
      if (constants) return constant(left.value() + right.value());
      if (is(left, 0)) return right;
      if (is(right, 0)) return left;
      break;
    case Binary::Subtract:
      if (constants) return constant(left.value() - right.value());
      if (is(right, 0)) return left;
      break;
    case Binary::Multiply:
      if (constants) return constant(left.value() * right.value());
      if (is(left, 1)) return right;
      if (is(right, 1)) return left;
      break;
    case Binary::Divide:
      if (is(right, 1)) return left;
      break;
    default:
      break;
  }
  Node node;
  node.kind = Kind::Binary;
  node.binary = function;
  node.operands = {std::move(left), std::move(right)};
  return make(std::move(node));
}

Scalar Scalar::select(Scalar condition, Scalar then, Scalar otherwise) {
  Node node;
  node.kind = Kind::Select;
  node.operands = {std::move(condition), std::move(then), std::move(otherwise)};
  return make(std::move(node));
}

Scalar Scalar::cast(ElementType type, Scalar operand) {
  Node node;
  node.kind = Kind::Cast;
  node.type = type;
  node.operands = {std::move(operand)};
  return make(std::move(node));
}

Scalar Scalar::position(Index index) {
  Node node;
  node.kind = Kind::Position;
  node.indices = {std::move(index)};
  return make(std::move(node));
}

Scalar operator+(const Scalar& a, const Scalar& b) { return Scalar::binary(Binary::Add, a, b); }
Scalar operator-(const Scalar& a, const Scalar& b) {
  return Scalar::binary(Binary::Subtract, a, b);
}
Scalar operator*(const Scalar& a, const Scalar& b) {
  return Scalar::binary(Binary::Multiply, a, b);
}
Scalar operator/(const Scalar& a, const Scalar& b) { return Scalar::binary(Binary::Divide, a, b); }
Scalar minimum(const Scalar& a, const Scalar& b) { return Scalar::binary(Binary::Minimum, a, b); }
Scalar maximum(const Scalar& a, const Scalar& b) { return Scalar::binary(Binary::Maximum, a, b); }

bool operator==(const Scalar& a, const Scalar& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Scalar::Kind::Constant:
      return (std::isnan(a.value()) && std::isnan(b.value())) ||
             std::bit_cast<uint64_t>(a.value()) == std::bit_cast<uint64_t>(b.value());
    case Scalar::Kind::Read:
      return a.tensor() == b.tensor() && a.indices() == b.indices();
    case Scalar::Kind::Position:
      return a.indices() == b.indices();
    case Scalar::Kind::Reduced:
      return true;
    case Scalar::Kind::Unary:
      if (a.unary_function() != b.unary_function()) return false;
      break;
    case Scalar::Kind::Binary:
      if (a.binary_function() != b.binary_function()) return false;
      break;
    case Scalar::Kind::Cast:
      if (a.type() != b.type()) return false;
      break;
    case Scalar::Kind::Select:
      break;
  }
  return a.operands() == b.operands();
}

namespace {

void collect_reads(const Scalar& scalar, std::vector<Scalar>& found) {
  if (scalar.kind() == Scalar::Kind::Read) found.push_back(scalar);
  for (const Scalar& operand : scalar.operands()) collect_reads(operand, found);
}

/// The same node over other operands.
Scalar with_operands(const Scalar& scalar, std::vector<Scalar> operands) {
  switch (scalar.kind()) {
    case Scalar::Kind::Unary:
      return Scalar::unary(scalar.unary_function(), std::move(operands[0]));
    case Scalar::Kind::Binary:
      return Scalar::binary(scalar.binary_function(), std::move(operands[0]),
                            std::move(operands[1]));
    case Scalar::Kind::Select:
      return Scalar::select(std::move(operands[0]), std::move(operands[1]), std::move(operands[2]));
    case Scalar::Kind::Cast:
      return Scalar::cast(scalar.type(), std::move(operands[0]));
    default:
      return scalar;
  }
}

}  // namespace

std::vector<Scalar> reads(const Scalar& scalar) {
  std::vector<Scalar> found;
  collect_reads(scalar, found);
  return found;
}

Scalar transform(const Scalar& scalar, const std::function<Scalar(const Scalar&)>& rewrite) {
  std::vector<Scalar> operands;
  operands.reserve(scalar.operands().size());
  for (const Scalar& operand : scalar.operands()) operands.push_back(transform(operand, rewrite));
  return rewrite(with_operands(scalar, std::move(operands)));
}

Scalar transform_indices(const Scalar& scalar, const std::function<Index(const Index&)>& rewrite) {
  return transform(scalar, [&](const Scalar& node) {
    if (node.kind() == Scalar::Kind::Position) return Scalar::position(rewrite(node.indices()[0]));
    if (node.kind() != Scalar::Kind::Read) return node;
    std::vector<Index> indices;
    indices.reserve(node.indices().size());
    for (const Index& index : node.indices()) indices.push_back(rewrite(index));
    return Scalar::read(node.tensor(), std::move(indices));
  });
}

bool is_float(ElementType type) {
  return type == ElementType::Float32 || type == ElementType::Float64 ||
         type == ElementType::Float16 || type == ElementType::BFloat16;
}

ElementType promote(ElementType a, ElementType b) {
  if (a == b || b == ElementType::Undefined) return a;
  if (a == ElementType::Undefined) return b;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (element_size(a) != element_size(b)) return element_size(a) > element_size(b) ? a : b;
  if (is_float(a)) return ElementType::Float32;
  // One width, not equal: the signed type, or an integer rather than Bool.
  const bool first = a == ElementType::Int8 || a == ElementType::Int16 || a == ElementType::Int32 ||
                     a == ElementType::Int64 || b == ElementType::Bool;
  return first ? a : b;
}

ElementType type_of(const Scalar& scalar,
                    const std::function<ElementType(const std::string& tensor)>& tensor_type,
                    ElementType reduced_type) {
  const auto operand = [&](size_t i) {
    return type_of(scalar.operand(i), tensor_type, reduced_type);
  };
  switch (scalar.kind()) {
    case Scalar::Kind::Constant:
      return ElementType::Undefined;
    case Scalar::Kind::Read:
      return tensor_type(scalar.tensor());
    case Scalar::Kind::Reduced:
      return reduced_type;
    case Scalar::Kind::Position:
      return ElementType::Int64;
    case Scalar::Kind::Cast:
      return scalar.type();
    case Scalar::Kind::Select:
      return promote(operand(1), operand(2));
    case Scalar::Kind::Unary:
      switch (scalar.unary_function()) {
        case Unary::Not:
          return ElementType::Bool;
        case Unary::Negate:
        case Unary::Absolute:
        case Unary::Floor:
        case Unary::Ceil:
        case Unary::Round:
        case Unary::Sign:
          return operand(0);
        default: {
          const ElementType type = operand(0);
          return type == ElementType::Undefined || is_float(type) ? type : ElementType::Float32;
        }
      }
    case Scalar::Kind::Binary:
      switch (scalar.binary_function()) {
        case Binary::Less:
        case Binary::LessEqual:
        case Binary::Equal:
        case Binary::And:
        case Binary::Or:
          return ElementType::Bool;
        default:
          return promote(operand(0), operand(1));
      }
  }
  throw InternalError("type_of: unknown kind of scalar");
}

}  // namespace opsmith::expression
