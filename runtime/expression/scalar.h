#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/expression/index.h"
#include "support/tensor.h"

namespace opsmith::expression {

enum class Unary : uint8_t {
  Negate,
  Absolute,
  Exp,
  Log,
  Tanh,
  Erf,
  Sqrt,
  Reciprocal,
  Floor,
  Ceil,
  Round,
  Sin,
  Cos,
  Sign,
  Not,
};
enum class Binary : uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  Minimum,
  Maximum,
  Power,
  Modulo,
  Less,
  LessEqual,
  Equal,
  And,
  Or,
};

/// The value of one element: what a stage computes at one point of its iteration space. Immutable
/// and cheap to copy.
class Scalar {
 public:
  enum class Kind : uint8_t {
    Constant,  ///< value()
    Read,      ///< tensor()[indices()]
    Reduced,   ///< `_`: the stage's reduced value, in an epilogue only
    Unary,
    Binary,
    Select,    ///< operands: condition, then, else
    Cast,      ///< operand 0 to type()
    Position,  ///< indices()[0] as a number
  };

  static Scalar constant(double value);
  static Scalar read(std::string tensor, std::vector<Index> indices);
  static Scalar reduced();
  static Scalar unary(Unary function, Scalar operand);
  static Scalar binary(Binary function, Scalar left, Scalar right);
  static Scalar select(Scalar condition, Scalar then, Scalar otherwise);
  static Scalar cast(ElementType type, Scalar operand);
  static Scalar position(Index index);

  Kind kind() const { return node_->kind; }
  double value() const { return node_->value; }
  const std::string& tensor() const { return node_->tensor; }
  const std::vector<Index>& indices() const { return node_->indices; }
  Unary unary_function() const { return node_->unary; }
  Binary binary_function() const { return node_->binary; }
  ElementType type() const { return node_->type; }
  const std::vector<Scalar>& operands() const { return node_->operands; }
  const Scalar& operand(size_t i) const { return node_->operands.at(i); }

 private:
  struct Node {
    Kind kind = Kind::Constant;
    double value = 0;
    std::string tensor;
    std::vector<Index> indices;
    Unary unary = Unary::Negate;
    Binary binary = Binary::Add;
    ElementType type = ElementType::Float32;
    std::vector<Scalar> operands;
  };
  explicit Scalar(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Scalar make(Node node);
  std::shared_ptr<const Node> node_;
};

Scalar operator+(const Scalar& a, const Scalar& b);
Scalar operator-(const Scalar& a, const Scalar& b);
Scalar operator*(const Scalar& a, const Scalar& b);
Scalar operator/(const Scalar& a, const Scalar& b);
Scalar minimum(const Scalar& a, const Scalar& b);
Scalar maximum(const Scalar& a, const Scalar& b);

bool operator==(const Scalar& a, const Scalar& b);  ///< structural
std::string to_string(const Scalar& scalar);

/// Every Read inside, in order of appearance.
std::vector<Scalar> reads(const Scalar& scalar);
/// Rebuilds bottom-up: `rewrite` sees each node with its operands already rewritten and returns
/// the node to stand in its place.
Scalar transform(const Scalar& scalar, const std::function<Scalar(const Scalar&)>& rewrite);
/// Applies `rewrite` to every index of every read and position.
Scalar transform_indices(const Scalar& scalar, const std::function<Index(const Index&)>& rewrite);

}  // namespace opsmith::expression
