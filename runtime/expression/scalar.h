#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/expression/index.h"
#include "support/tensor.h"

namespace opsmith::expression {

/// Functions of one value, as IEEE 754 and C have them. Round is half to even; Sign gives -1, 0 or
/// 1; Not gives 1 for zero, else 0.
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
/// Functions of two values. Minimum and Maximum give NaN when either is NaN (as ONNX and IEEE
/// 754-2019 `maximum`). Division of integers truncates as in C; by zero it gives 0. Modulo has the
/// sign of its divisor for integers and floats alike. Comparisons, And and Or give 0 or 1.
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
/// The text form of docs/expressions.md.
std::string to_string(const Scalar& scalar);
/// "exp", "less_equal", ...: the name in the text form. Negate and the arithmetic of `+ - * /` have
/// one too, but print as signs.
const char* function_name(Unary function);
const char* function_name(Binary function);

/// The element type in which the value of `scalar` is computed, given the types of its tensors and
/// of the reduced value `_`. Constants and Undefined adapt to the other operand; a float beats an
/// integer, wider beats narrower; of one width f16 with bf16 give f32 and mixed signs the signed
/// type. Positions are i64; comparisons and logic are Bool. Functions such as exp of an integer
/// give f32. A scalar of constants only is Undefined.
ElementType type_of(const Scalar& scalar,
                    const std::function<ElementType(const std::string& tensor)>& tensor_type,
                    ElementType reduced_type);
/// The type in which two operands meet, as described at type_of.
ElementType promote(ElementType a, ElementType b);
bool is_float(ElementType type);

/// Every Read inside, in order of appearance.
std::vector<Scalar> reads(const Scalar& scalar);
/// Rebuilds bottom-up: `rewrite` sees each node with its operands already rewritten and returns
/// the node to stand in its place.
Scalar transform(const Scalar& scalar, const std::function<Scalar(const Scalar&)>& rewrite);
/// Applies `rewrite` to every index of every read and position.
Scalar transform_indices(const Scalar& scalar, const std::function<Index(const Index&)>& rewrite);

}  // namespace opsmith::expression
