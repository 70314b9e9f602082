#include "runtime/compiler/codegen/typed_value.h"

#include <algorithm>
#include <utility>

#include "support/error.h"

namespace opsmith::compiler {

using expression::Reduction;
using llvm::Value;

bool is_floating(ElementType type) {
  return type == ElementType::Float32 || type == ElementType::Float64 ||
         type == ElementType::Float16 || type == ElementType::BFloat16;
}

bool is_signed(ElementType type) {
  return type == ElementType::Int8 || type == ElementType::Int16 || type == ElementType::Int32 ||
         type == ElementType::Int64;
}

llvm::Type* Arithmetic::with_lanes(llvm::Type* type, int64_t lanes) const {
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
}

llvm::Type* Arithmetic::memory_type(ElementType type, int64_t lanes) const {
  switch (type) {
    case ElementType::Float32:
      return with_lanes(builder_.getFloatTy(), lanes);
    case ElementType::Float64:
      return with_lanes(builder_.getDoubleTy(), lanes);
    case ElementType::Float16:
      return with_lanes(builder_.getHalfTy(), lanes);
    default:
      break;
  }
  const size_t size = element_size(type);
  if (size == 0) throw Unsupported("compiled code of element type " + to_string(type));
  return with_lanes(builder_.getIntNTy(static_cast<unsigned>(size * 8)), lanes);
}

ElementType Arithmetic::computed(ElementType type) {
  return type == ElementType::Float16 || type == ElementType::BFloat16 ? ElementType::Float32
                                                                       : type;
}

llvm::Type* Arithmetic::register_type(ElementType type) const {
  return memory_type(computed(type), lanes_);
}

TypedValue Arithmetic::from_memory(Value* loaded, ElementType type) {
  llvm::Type* const target = register_type(type);
  switch (type) {
    case ElementType::Float16:
      return {builder_.CreateFPExt(loaded, target), ElementType::Float32};
    case ElementType::BFloat16: {
      llvm::Type* const wide = with_lanes(builder_.getInt32Ty(), lanes_);
      Value* const bits = builder_.CreateShl(builder_.CreateZExt(loaded, wide), 16);
      return {builder_.CreateBitCast(bits, target), ElementType::Float32};
    }
    case ElementType::Bool:
      return truth(builder_.CreateICmpNE(loaded, llvm::Constant::getNullValue(loaded->getType())));
    default:
      return {loaded, type};
  }
}

Value* Arithmetic::to_memory(const TypedValue& value, ElementType type) {
  if (type == ElementType::Float16) {
    // From f64 in one rounding.
    const TypedValue wide = is_floating(value.type) ? value : convert(value, ElementType::Float32);
    return builder_.CreateFPTrunc(wide.value, memory_type(type, lanes_));
  }
  if (type == ElementType::BFloat16) {
    Value* const number = convert(value, ElementType::Float32).value;
    llvm::Type* const wide = with_lanes(builder_.getInt32Ty(), lanes_);
    const auto integer = [&](uint64_t v) { return llvm::ConstantInt::get(wide, v); };
    Value* const bits = builder_.CreateBitCast(number, wide);
    Value* const odd = builder_.CreateAnd(builder_.CreateLShr(bits, 16), integer(1));
    Value* const rounded = builder_.CreateAdd(bits, builder_.CreateAdd(odd, integer(0x7fff)));
    Value* const quiet = builder_.CreateOr(bits, integer(0x400000));
    Value* const chosen =
        builder_.CreateSelect(builder_.CreateFCmpUNO(number, number), quiet, rounded);
    return builder_.CreateTrunc(builder_.CreateLShr(chosen, 16), memory_type(type, lanes_));
  }
  return convert(value, type).value;
}

Value* Arithmetic::constant(ElementType type, double value) {
  llvm::Type* const target = register_type(type);
  if (is_floating(type)) return llvm::ConstantFP::get(target, value);
  if (type == ElementType::Bool) return llvm::ConstantInt::get(target, value != 0 ? 1 : 0);
  if (!is_signed(type)) {
    const uint64_t bits = value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                                    : static_cast<uint64_t>(value);
    return llvm::ConstantInt::get(target, bits);
  }
  // Fill values such as the lowest number of a type may lie beyond what 64 bits hold.
  const double bounded = std::min(std::max(value, -0x1p63), 0x1.fffffffffffffp62);
  return llvm::ConstantInt::getSigned(target, static_cast<int64_t>(bounded));
}

TypedValue Arithmetic::constant(double value) {
  return {constant(ElementType::Float64, value), ElementType::Float64, true};
}

TypedValue Arithmetic::convert(const TypedValue& source, ElementType type) {
  type = computed(type);
  if (source.type == type) return {source.value, type};
  llvm::Type* const target = register_type(type);
  if (source.adapts) {
    if (auto* number = llvm::dyn_cast<llvm::Constant>(source.value)) {
      llvm::Constant* const one = lanes_ == 1 ? number : number->getSplatValue();
      if (auto* real = llvm::dyn_cast_or_null<llvm::ConstantFP>(one)) {
        return {constant(type, real->getValueAPF().convertToDouble()), type};
      }
    }
  }
  Value* const x = source.value;
  if (type == ElementType::Bool) return truth(is_true(source));
  if (is_floating(source.type)) {
    if (is_floating(type)) return {builder_.CreateFPCast(x, target), type};
    const auto function =
        is_signed(type) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return {builder_.CreateIntrinsic(function, {target, x->getType()}, {x}), type};
  }
  const bool sign = is_signed(source.type);
  if (is_floating(type)) {
    return {sign ? builder_.CreateSIToFP(x, target) : builder_.CreateUIToFP(x, target), type};
  }
  return {builder_.CreateIntCast(x, target, sign), type};
}

TypedValue Arithmetic::cast(const TypedValue& value, ElementType type) {
  return from_memory(to_memory(value, type), type);
}

void Arithmetic::meet(TypedValue& a, TypedValue& b) {
  if (a.adapts && b.adapts) return;
  const auto own_type = [](const TypedValue& v) {
    return v.adapts ? ElementType::Undefined : v.type;
  };
  const ElementType type = expression::promote(own_type(a), own_type(b));
  a = convert(a, type);
  b = convert(b, type);
}

Value* Arithmetic::is_true(const TypedValue& value) {
  Value* const zero = llvm::Constant::getNullValue(value.value->getType());
  return is_floating(value.type) ? builder_.CreateFCmpUNE(value.value, zero)
                                 : builder_.CreateICmpNE(value.value, zero);
}

TypedValue Arithmetic::truth(Value* bits) {
  return {builder_.CreateZExt(bits, register_type(ElementType::Bool)), ElementType::Bool};
}

Value* Arithmetic::extreme(ElementType type, Value* a, Value* b, bool largest) {
  if (!is_floating(type)) {
    const auto function = is_signed(type)
                              ? (largest ? llvm::Intrinsic::smax : llvm::Intrinsic::smin)
                              : (largest ? llvm::Intrinsic::umax : llvm::Intrinsic::umin);
    return builder_.CreateBinaryIntrinsic(function, a, b);
  }
  // The machine's max(a, b) gives b when either is a NaN: one instruction where a is none.
  if (llvm::isa<llvm::Constant>(b)) std::swap(a, b);
  Value* const better = largest ? builder_.CreateFCmpOGT(a, b) : builder_.CreateFCmpOLT(a, b);
  Value* const chosen = builder_.CreateSelect(better, a, b);
  if (llvm::isa<llvm::Constant>(a)) return chosen;
  return builder_.CreateSelect(builder_.CreateFCmpUNO(a, a), a, chosen);
}

TypedValue Arithmetic::select(const TypedValue& condition, TypedValue then, TypedValue otherwise) {
  meet(then, otherwise);
  return {builder_.CreateSelect(is_true(condition), then.value, otherwise.value), then.type,
          then.adapts && otherwise.adapts};
}

Value* Arithmetic::identity(Reduction reduction, ElementType type) {
  type = computed(type);
  llvm::Type* const target = register_type(type);
  const bool largest = reduction == Reduction::Maximum;
  if (reduction == Reduction::Product) return constant(type, 1);
  if (reduction == Reduction::Maximum || reduction == Reduction::Minimum) {
    if (is_floating(type)) return llvm::ConstantFP::getInfinity(target, largest);
    if (type == ElementType::Bool) return constant(type, largest ? 0 : 1);
    const auto bits = static_cast<unsigned>(element_size(type) * 8);
    const llvm::APInt lowest =
        is_signed(type) ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
    const llvm::APInt highest =
        is_signed(type) ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
    return llvm::ConstantInt::get(target, largest ? lowest : highest);
  }
  return llvm::Constant::getNullValue(target);
}

Value* Arithmetic::combine(Reduction reduction, ElementType type, Value* accumulator,
                           Value* value) {
  type = computed(type);
  switch (reduction) {
    case Reduction::Sum:
      return is_floating(type) ? builder_.CreateFAdd(accumulator, value)
                               : builder_.CreateAdd(accumulator, value);
    case Reduction::Product:
      return is_floating(type) ? builder_.CreateFMul(accumulator, value)
                               : builder_.CreateMul(accumulator, value);
    case Reduction::Maximum:
      return extreme(type, value, accumulator, true);
    case Reduction::Minimum:
      return extreme(type, value, accumulator, false);
    default:
      return value;
  }
}

Value* Arithmetic::combine_lanes(Reduction reduction, ElementType type, Value* vector) {
  auto* const vector_type = llvm::dyn_cast<llvm::FixedVectorType>(vector->getType());
  if (vector_type == nullptr) return vector;
  // Halve until one lane is left.
  int lanes = static_cast<int>(vector_type->getNumElements());
  while (lanes > 1 && lanes % 2 == 0) {
    lanes /= 2;
    llvm::SmallVector<int> low;
    llvm::SmallVector<int> high;
    for (int i = 0; i < lanes; ++i) {
      low.push_back(i);
      high.push_back(i + lanes);
    }
    Value* const a = builder_.CreateShuffleVector(vector, low);
    Value* const b = builder_.CreateShuffleVector(vector, high);
    vector = combine(reduction, type, a, b);
  }
  Value* result = builder_.CreateExtractElement(vector, uint64_t{0});
  for (int i = 1; i < lanes; ++i) {
    result = combine(reduction, type, result,
                     builder_.CreateExtractElement(vector, static_cast<uint64_t>(i)));
  }
  return result;
}

}  // namespace opsmith::compiler
