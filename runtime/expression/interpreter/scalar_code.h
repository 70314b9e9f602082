#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/expression/interpreter/element.h"
#include "runtime/expression/interpreter/index_code.h"
#include "runtime/expression/scalar.h"

namespace opsmith::expression::interpreter {

/// What a scalar may refer to while it is translated.
struct ScalarContext {
  std::function<const Tensor&(const std::string&)> tensor;
  Slots slots;
  ElementType reduced_type = ElementType::Undefined;
  double fill = 0;
};

/// A scalar expression as a sequence of typed stack operations. Floats are computed in double.
class ScalarCode {
 public:
  /// The value comes as a `type`, whatever the expression's own is.
  ScalarCode(const Scalar& scalar, ElementType type, const ScalarContext& context);

  Value evaluate(const int64_t* iterators, Value reduced) const;

 private:
  struct Read {
    const void* elements;
    ElementType type;
    Shape shape;
    std::vector<IndexCode> indices;
    Value fill;
  };
  struct Operation {
    Scalar::Kind kind;
    ElementType type;  ///< of the operands; of a cast, the target
    ElementType from = ElementType::Undefined;
    Unary unary = Unary::Negate;
    Binary binary = Binary::Add;
    Value constant = {};
    size_t place = 0;  ///< in reads_ or positions_
  };
  void append(const Scalar& scalar, ElementType wanted, const ScalarContext& context);
  void append_conversion(ElementType from, ElementType to);
  Value read(const Read& read, const int64_t* iterators) const;

  std::vector<Operation> code_;
  std::vector<Read> reads_;
  std::vector<IndexCode> positions_;
  mutable std::vector<Value> stack_;
};

}  // namespace opsmith::expression::interpreter
