#include "runtime/compiler/codegen/typed_value.h"
#include "support/error.h"

// The unary and binary functions of scalar bodies.

namespace opsmith::compiler {

using expression::Binary;
using expression::Unary;
using llvm::Value;

TypedValue Arithmetic::unary(Unary function, TypedValue x) {
  if (function == Unary::Not) return truth(builder_.CreateNot(is_true(x)));
  const auto intrinsic = [&](llvm::Intrinsic::ID id) {
    return TypedValue{builder_.CreateUnaryIntrinsic(id, x.value), x.type, x.adapts};
  };
  if (x.type == ElementType::Bool) x = convert(x, ElementType::Int32);
  if (!is_floating(x.type)) {
    Value* const zero = llvm::Constant::getNullValue(x.value->getType());
    switch (function) {
      case Unary::Negate:
        return {builder_.CreateNeg(x.value), x.type};
      case Unary::Absolute: {
        Value* const negative = builder_.CreateICmpSLT(x.value, zero);
        if (!is_signed(x.type)) return x;
        return {builder_.CreateSelect(negative, builder_.CreateNeg(x.value), x.value), x.type};
      }
      case Unary::Sign: {
        Value* const positive = is_signed(x.type) ? builder_.CreateICmpSGT(x.value, zero)
                                                  : builder_.CreateICmpUGT(x.value, zero);
        Value* const other = is_signed(x.type)
                                 ? builder_.CreateSelect(builder_.CreateICmpSLT(x.value, zero),
                                                         constant(x.type, -1), zero)
                                 : zero;
        return {builder_.CreateSelect(positive, constant(x.type, 1), other), x.type};
      }
      case Unary::Floor:
      case Unary::Ceil:
      case Unary::Round:
        return x;
      default:
        x = convert(x, ElementType::Float32);
    }
  }
  VectorMath math(builder_);
  switch (function) {
    case Unary::Negate:
      return {builder_.CreateFNeg(x.value), x.type, x.adapts};
    case Unary::Absolute:
      return intrinsic(llvm::Intrinsic::fabs);
    case Unary::Sqrt:
      return intrinsic(llvm::Intrinsic::sqrt);
    case Unary::Floor:
      return intrinsic(llvm::Intrinsic::floor);
    case Unary::Ceil:
      return intrinsic(llvm::Intrinsic::ceil);
    case Unary::Round:
      return intrinsic(llvm::Intrinsic::roundeven);
    case Unary::Reciprocal:
      return {builder_.CreateFDiv(constant(x.type, 1), x.value), x.type, x.adapts};
    case Unary::Sign: {
      Value* const zero = constant(x.type, 0);
      Value* const lower = builder_.CreateSelect(builder_.CreateFCmpOLT(x.value, zero),
                                                 constant(x.type, -1), x.value);
      return {
          builder_.CreateSelect(builder_.CreateFCmpOGT(x.value, zero), constant(x.type, 1), lower),
          x.type};
    }
    case Unary::Exp:
      return {math.exp(x.value), x.type, x.adapts};
    case Unary::Log:
      return {math.log(x.value), x.type, x.adapts};
    case Unary::Tanh:
      return {math.tanh(x.value), x.type, x.adapts};
    case Unary::Erf:
      return {math.erf(x.value), x.type, x.adapts};
    case Unary::Sin:
      return {math.sin(x.value), x.type, x.adapts};
    case Unary::Cos:
      return {math.cos(x.value), x.type, x.adapts};
    default:
      throw InternalError("unknown unary function");
  }
}

TypedValue Arithmetic::divide(const TypedValue& a, const TypedValue& b) {
  if (is_floating(a.type)) return {builder_.CreateFDiv(a.value, b.value), a.type};
  // Toward zero, as in C; a division by zero gives 0, the lowest by -1 itself.
  Value* const zero = llvm::Constant::getNullValue(b.value->getType());
  Value* const by_zero = builder_.CreateICmpEQ(b.value, zero);
  Value* divisor = builder_.CreateSelect(by_zero, constant(b.type, 1), b.value);
  Value* quotient = nullptr;
  if (is_signed(a.type)) {
    Value* const minus =
        builder_.CreateICmpEQ(b.value, llvm::Constant::getAllOnesValue(b.value->getType()));
    divisor = builder_.CreateSelect(minus, constant(b.type, 1), divisor);
    quotient = builder_.CreateSDiv(a.value, divisor);
    quotient = builder_.CreateSelect(minus, builder_.CreateNeg(a.value), quotient);
  } else {
    quotient = builder_.CreateUDiv(a.value, divisor);
  }
  return {builder_.CreateSelect(by_zero, zero, quotient), a.type};
}

TypedValue Arithmetic::modulo(const TypedValue& a, const TypedValue& b) {
  if (is_floating(a.type)) {
    // a - floor(a / b) * b: the sign of the divisor, as for integers.
    Value* const quotient = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor,
                                                          builder_.CreateFDiv(a.value, b.value));
    Value* const rest = builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a.value->getType()},
                                                 {builder_.CreateFNeg(quotient), b.value, a.value});
    return {rest, a.type};
  }
  Value* const quotient = divide(a, b).value;
  Value* const rest = builder_.CreateSub(a.value, builder_.CreateMul(quotient, b.value));
  if (!is_signed(a.type)) return {rest, a.type};
  Value* const zero = llvm::Constant::getNullValue(rest->getType());
  Value* const other_sign = builder_.CreateICmpSLT(builder_.CreateXor(rest, b.value), zero);
  Value* const adjust = builder_.CreateAnd(builder_.CreateICmpNE(rest, zero), other_sign);
  return {builder_.CreateSelect(adjust, builder_.CreateAdd(rest, b.value), rest), a.type};
}

TypedValue Arithmetic::binary(Binary function, TypedValue a, TypedValue b) {
  if (function == Binary::And || function == Binary::Or) {
    Value* const x = is_true(a);
    Value* const y = is_true(b);
    return truth(function == Binary::And ? builder_.CreateAnd(x, y) : builder_.CreateOr(x, y));
  }
  if (function == Binary::Power && b.adapts) {
    if (auto* power = llvm::dyn_cast<llvm::Constant>(b.value)) {
      auto* const one =
          llvm::dyn_cast_or_null<llvm::ConstantFP>(lanes_ == 1 ? power : power->getSplatValue());
      if (one != nullptr && one->isExactlyValue(2)) return binary(Binary::Multiply, a, a);
    }
  }
  meet(a, b);
  const ElementType type = a.type;
  const bool adapts = a.adapts && b.adapts;
  const bool floating = is_floating(type);
  const auto compare = [&](llvm::CmpInst::Predicate ordered, llvm::CmpInst::Predicate sign,
                           llvm::CmpInst::Predicate plain) {
    return truth(floating ? builder_.CreateFCmp(ordered, a.value, b.value)
                          : builder_.CreateICmp(is_signed(type) ? sign : plain, a.value, b.value));
  };
  using Compare = llvm::CmpInst;
  switch (function) {
    case Binary::Add:
      return {
          floating ? builder_.CreateFAdd(a.value, b.value) : builder_.CreateAdd(a.value, b.value),
          type, adapts};
    case Binary::Subtract:
      return {
          floating ? builder_.CreateFSub(a.value, b.value) : builder_.CreateSub(a.value, b.value),
          type, adapts};
    case Binary::Multiply:
      return {
          floating ? builder_.CreateFMul(a.value, b.value) : builder_.CreateMul(a.value, b.value),
          type, adapts};
    case Binary::Divide: {
      TypedValue result = divide(a, b);
      result.adapts = adapts;
      return result;
    }
    case Binary::Modulo: {
      TypedValue result = modulo(a, b);
      result.adapts = adapts;
      return result;
    }
    case Binary::Minimum:
      return {extreme(type, a.value, b.value, false), type, adapts};
    case Binary::Maximum:
      return {extreme(type, a.value, b.value, true), type, adapts};
    case Binary::Power: {
      const ElementType wide = floating ? type : ElementType::Float64;
      TypedValue result{VectorMath(builder_).power(convert(a, wide).value, convert(b, wide).value),
                        wide};
      if (floating) {
        result.adapts = adapts;
        return result;
      }
      return convert(unary(Unary::Round, result), type);
    }
    case Binary::Less:
      return compare(Compare::FCMP_OLT, Compare::ICMP_SLT, Compare::ICMP_ULT);
    case Binary::LessEqual:
      return compare(Compare::FCMP_OLE, Compare::ICMP_SLE, Compare::ICMP_ULE);
    case Binary::Equal:
      return compare(Compare::FCMP_OEQ, Compare::ICMP_EQ, Compare::ICMP_EQ);
    default:
      throw InternalError("unknown binary function");
  }
}

}  // namespace opsmith::compiler
