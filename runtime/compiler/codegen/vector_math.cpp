#include "runtime/compiler/codegen/vector_math.h"

#include <numbers>

namespace opsmith::compiler {

using llvm::Value;

bool VectorMath::is_double(Value* x) { return x->getType()->getScalarType()->isDoubleTy(); }

llvm::Type* VectorMath::integer_like(Value* x) {
  llvm::Type* const integer = is_double(x) ? builder_.getInt64Ty() : builder_.getInt32Ty();
  auto* vector = llvm::dyn_cast<llvm::VectorType>(x->getType());
  return vector == nullptr ? integer : llvm::VectorType::get(integer, vector->getElementCount());
}

Value* VectorMath::constant(Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

Value* VectorMath::fused(Value* a, Value* b, Value* c) {
  return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

Value* VectorMath::polynomial(Value* x, std::initializer_list<double> coefficients) {
  Value* sum = nullptr;
  for (double coefficient : coefficients) {
    Value* const c = constant(x, coefficient);
    sum = sum == nullptr ? c : fused(sum, x, c);
  }
  return sum;
}

Value* VectorMath::absolute(Value* x) {
  return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
}

Value* VectorMath::copy_sign(Value* magnitude, Value* sign) {
  return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

Value* VectorMath::widen(Value* x) {
  llvm::Type* type = builder_.getDoubleTy();
  if (auto* vector = llvm::dyn_cast<llvm::VectorType>(x->getType())) {
    type = llvm::VectorType::get(type, vector->getElementCount());
  }
  return builder_.CreateFPExt(x, type);
}

Value* VectorMath::narrow(Value* x, llvm::Type* type) { return builder_.CreateFPTrunc(x, type); }

Value* VectorMath::power_of_two(Value* n) {
  llvm::Type* const integer = integer_like(n);
  Value* exponent = builder_.CreateFPToSI(n, integer);
  exponent = builder_.CreateAdd(exponent, llvm::ConstantInt::get(integer, 1023));
  exponent = builder_.CreateShl(exponent, llvm::ConstantInt::get(integer, 52));
  return builder_.CreateBitCast(exponent, n->getType());
}

VectorMath::Exponential VectorMath::reduced_exponential_single(Value* x) {
  // Below -87.34 results are less than any normal number and flushed; above 88.73 they overflow.
  // A NaN passes both comparisons.
  Value* const high = constant(x, 89);
  Value* const low = constant(x, -87.6);
  x = builder_.CreateSelect(builder_.CreateFCmpOGT(x, high), high, x);
  x = builder_.CreateSelect(builder_.CreateFCmpOLT(x, low), low, x);
  // 2^n has no exponent for n = 128: there n stays 127 and r grows to 0.97 at most.
  Value* const most = constant(x, 88.3);
  Value* const bounded = builder_.CreateSelect(builder_.CreateFCmpOGT(x, most), most, x);
  // Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits; with 127 more, those
  // are the exponent of 2^n.
  Value* const shift = constant(x, 12582912 + 127);
  Value* const shifted = fused(bounded, constant(x, std::numbers::log2e), shift);
  Value* const n = builder_.CreateFSub(shifted, shift);
  llvm::Type* const integer = integer_like(x);
  Value* const bits = builder_.CreateShl(builder_.CreateBitCast(shifted, integer),
                                         llvm::ConstantInt::get(integer, 23));
  Value* r = fused(n, constant(x, -0x1.62e400p-1), x);
  r = fused(n, constant(x, -0x1.7f7d1cf79abcap-20), r);
  Value* const tail = polynomial(r, {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5});
  Value* const p = fused(builder_.CreateFMul(r, r), tail, r);
  return {p, builder_.CreateBitCast(bits, x->getType()), nullptr};
}

VectorMath::Exponential VectorMath::reduced_exponential(Value* x) {
  if (!is_double(x)) return reduced_exponential_single(x);
  // Beyond these bounds the result is 0 or infinity; a NaN passes both comparisons.
  Value* const high = constant(x, 710);
  Value* const low = constant(x, -746);
  x = builder_.CreateSelect(builder_.CreateFCmpOGT(x, high), high, x);
  x = builder_.CreateSelect(builder_.CreateFCmpOLT(x, low), low, x);
  Value* n = builder_.CreateUnaryIntrinsic(
      llvm::Intrinsic::roundeven, builder_.CreateFMul(x, constant(x, std::numbers::log2e)));
  // ln 2 in two parts, the first with trailing zeros so that n * part is exact.
  Value* r = fused(n, constant(x, -0x1.62e42fefa0000p-1), x);
  r = fused(n, constant(x, -0x1.cf79abc9e3b3ap-40), r);
  // The Taylor series suffices for |r| <= 0.35: the first term left out is below an ulp.
  Value* const tail =
      polynomial(r, {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                     1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5});
  Value* const p = fused(builder_.CreateFMul(r, r), tail, r);
  // A NaN must not reach the conversion to integers; p carries it on.
  Value* const zero = constant(n, 0);
  n = builder_.CreateSelect(builder_.CreateFCmpORD(n, zero), n, zero);
  Value* const half = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor,
                                                    builder_.CreateFMul(n, constant(n, 0.5)));
  return {p, power_of_two(half), power_of_two(builder_.CreateFSub(n, half))};
}

Value* VectorMath::exp(Value* x) {
  const Exponential e = reduced_exponential(x);
  Value* const scaled = fused(e.p, e.half1, e.half1);
  return e.half2 == nullptr ? scaled : builder_.CreateFMul(scaled, e.half2);
}

Value* VectorMath::tanh(Value* x) {
  // tanh |x| = (e - 1) / (e + 1) with e = exp(2 |x|), by way of e - 1, which is exact near 0.
  Value* magnitude = absolute(x);
  Value* const most = constant(x, 20);
  magnitude = builder_.CreateSelect(builder_.CreateFCmpOGT(magnitude, most), most, magnitude);
  const Exponential e = reduced_exponential(builder_.CreateFAdd(magnitude, magnitude));
  Value* const scale = e.half2 == nullptr ? e.half1 : builder_.CreateFMul(e.half1, e.half2);
  Value* const minus_one = fused(scale, e.p, builder_.CreateFSub(scale, constant(x, 1)));
  Value* const result =
      builder_.CreateFDiv(minus_one, builder_.CreateFAdd(minus_one, constant(x, 2)));
  return copy_sign(result, x);
}

Value* VectorMath::log(Value* x) {
  const bool wide = is_double(x);
  llvm::Type* const integer = integer_like(x);
  const auto number = [&](uint64_t value) { return llvm::ConstantInt::get(integer, value); };
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
  Value* bits = builder_.CreateBitCast(x, integer);
  Value* const offset = number(wide ? 0x3fe6a09e667f3bcdu : 0x3f3504f3u);
  Value* const shifted = builder_.CreateSub(bits, offset);
  Value* const exponent = builder_.CreateAShr(shifted, number(wide ? 52 : 23));
  Value* const mantissa_mask = number(wide ? 0x000fffffffffffffu : 0x007fffffu);
  Value* const m = builder_.CreateBitCast(
      builder_.CreateAdd(builder_.CreateAnd(shifted, mantissa_mask), offset), x->getType());
  Value* const e = builder_.CreateSIToFP(exponent, x->getType());
  // log m = 2 atanh(s) with s = (m - 1) / (m + 1), |s| <= 0.172.
  Value* const f = builder_.CreateFSub(m, constant(x, 1));
  Value* const s = builder_.CreateFDiv(f, builder_.CreateFAdd(f, constant(x, 2)));
  Value* const s2 = builder_.CreateFMul(s, s);
  Value* const tail = wide ? polynomial(s2, {2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                                             2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3})
                           : polynomial(s2, {2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3});
  Value* low = fused(builder_.CreateFMul(s, s2), tail, builder_.CreateFAdd(s, s));
  low = fused(e, constant(x, wide ? 0x1.cf79abc9e3b3ap-40 : 0x1.7f7d1cf79abcap-20), low);
  Value* result = fused(e, constant(x, wide ? 0x1.62e42fefa0000p-1 : 0x1.62e400p-1), low);
  Value* const zero = constant(x, 0);
  Value* const infinity = llvm::ConstantFP::getInfinity(x->getType());
  Value* const nan = llvm::ConstantFP::getNaN(x->getType());
  // NaN and infinity pass through, negative numbers have no logarithm.
  result = builder_.CreateSelect(builder_.CreateFCmpULT(x, infinity), result, x);
  result = builder_.CreateSelect(builder_.CreateFCmpUNO(x, x), x, result);
  result = builder_.CreateSelect(builder_.CreateFCmpOLT(x, zero), nan, result);
  return builder_.CreateSelect(builder_.CreateFCmpOEQ(x, zero), builder_.CreateFNeg(infinity),
                               result);
}

Value* VectorMath::erf_single(Value* x) {
  // x P(x^2) / Q(x^2), fitted to erf on [0, 3.92] with a relative error of 2e-8; beyond, erf is 1.
  Value* const end = constant(x, 3.92);
  Value* bounded = absolute(x);
  bounded = builder_.CreateSelect(builder_.CreateFCmpOGT(bounded, end), end, bounded);
  Value* const square = builder_.CreateFMul(bounded, bounded);
  Value* const above =
      polynomial(square, {2.0503116426548545e-06, 2.8485731570358227e-04, 3.7644476294412164e-03,
                          5.274513328633515e-02, 1.9037909401212172e-01, 1.1283791468570734});
  Value* const below =
      polynomial(square, {3.8092705361584287e-05, 1.1622532642492718e-03, 1.4966880436578464e-02,
                          1.1409782089626096e-01, 5.020518279001779e-01, 1.0});
  return copy_sign(builder_.CreateFDiv(builder_.CreateFMul(bounded, above), below), x);
}

Value* VectorMath::erf(Value* x) {
  if (x->getType()->getScalarType()->isFloatTy()) return erf_single(x);
  Value* const magnitude = absolute(x);
  // Below 1: the Taylor series. Above: Abramowitz and Stegun 7.1.26, absolute error 1.5e-7.
  Value* const bounded = builder_.CreateSelect(builder_.CreateFCmpOGT(magnitude, constant(x, 1)),
                                               constant(x, 1), magnitude);
  Value* const square = builder_.CreateFMul(bounded, bounded);
  Value* const series =
      polynomial(square, {1.0 / 76204800, -1.0 / 6894720, 1.0 / 685440, -1.0 / 75600, 1.0 / 9360,
                          -1.0 / 1320, 1.0 / 216, -1.0 / 42, 1.0 / 10, -1.0 / 3, 1.0});
  Value* const small = builder_.CreateFMul(
      builder_.CreateFMul(bounded, constant(x, 2 * std::numbers::inv_sqrtpi)), series);
  Value* const t =
      builder_.CreateFDiv(constant(x, 1), fused(magnitude, constant(x, 0.3275911), constant(x, 1)));
  Value* const factor = builder_.CreateFMul(
      t, polynomial(t, {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592}));
  Value* const tail = exp(builder_.CreateFNeg(builder_.CreateFMul(magnitude, magnitude)));
  Value* const large = fused(builder_.CreateFNeg(factor), tail, constant(x, 1));
  // The unordered comparison sends a NaN to the branch that keeps it.
  Value* const result =
      builder_.CreateSelect(builder_.CreateFCmpOLT(magnitude, constant(x, 1)), small, large);
  return copy_sign(result, x);
}

Value* VectorMath::sine(Value* x, double quadrant) {
  llvm::Type* const type = x->getType();
  const bool wide = is_double(x);
  if (!wide) x = widen(x);
  Value* const n = builder_.CreateUnaryIntrinsic(
      llvm::Intrinsic::roundeven, builder_.CreateFMul(x, constant(x, 2 / std::numbers::pi)));
  // pi / 2 in two parts; n has at most 30 bits, the first part 33.
  Value* r = fused(n, constant(x, -0x1.921fb54400000p+0), x);
  r = fused(n, constant(x, -0x1.0b4611a626331p-34), r);
  Value* const turns = builder_.CreateFAdd(n, constant(x, quadrant));
  Value* const quarter = builder_.CreateUnaryIntrinsic(
      llvm::Intrinsic::floor, builder_.CreateFMul(turns, constant(x, 0.25)));
  Value* const q = fused(quarter, constant(x, -4), turns);  // 0, 1, 2 or 3
  Value* const r2 = builder_.CreateFMul(r, r);
  Value* const sine = fused(builder_.CreateFMul(r, r2),
                            polynomial(r2, {1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880,
                                            -1.0 / 5040, 1.0 / 120, -1.0 / 6}),
                            r);
  Value* const cosine = polynomial(
      r2, {1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0});
  Value* const odd = builder_.CreateOr(builder_.CreateFCmpOEQ(q, constant(x, 1)),
                                       builder_.CreateFCmpOEQ(q, constant(x, 3)));
  Value* const magnitude = builder_.CreateSelect(odd, cosine, sine);
  Value* const result = builder_.CreateSelect(builder_.CreateFCmpOGE(q, constant(x, 2)),
                                              builder_.CreateFNeg(magnitude), magnitude);
  return wide ? result : narrow(result, type);
}

Value* VectorMath::sin(Value* x) { return sine(x, 0); }

Value* VectorMath::cos(Value* x) { return sine(x, 1); }

Value* VectorMath::power(Value* x, Value* y) {
  llvm::Type* const type = x->getType();
  const bool wide = is_double(x);
  // In f64: the exponent multiplies the relative error of the logarithm.
  if (!wide) {
    x = widen(x);
    y = widen(y);
  }
  Value* const zero = constant(x, 0);
  Value* const one = constant(x, 1);
  Value* result = exp(builder_.CreateFMul(y, log(absolute(x))));
  Value* const whole = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, y);
  Value* const is_whole = builder_.CreateFCmpOEQ(whole, y);
  Value* const half = builder_.CreateFMul(y, constant(y, 0.5));
  Value* const is_odd = builder_.CreateAnd(
      is_whole,
      builder_.CreateFCmpONE(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, half), half));
  Value* const negative = builder_.CreateFCmpOLT(x, zero);
  result = builder_.CreateSelect(builder_.CreateAnd(negative, is_odd), builder_.CreateFNeg(result),
                                 result);
  Value* const finite =
      builder_.CreateFCmpONE(x, builder_.CreateFNeg(llvm::ConstantFP::getInfinity(x->getType())));
  result = builder_.CreateSelect(
      builder_.CreateAnd(builder_.CreateAnd(negative, finite), builder_.CreateNot(is_whole)),
      llvm::ConstantFP::getNaN(x->getType()), result);
  // x^0 = 1^y = 1 whatever the other is, as in C.
  Value* const unit =
      builder_.CreateOr(builder_.CreateFCmpOEQ(y, zero), builder_.CreateFCmpOEQ(x, one));
  result = builder_.CreateSelect(unit, one, result);
  return wide ? result : narrow(result, type);
}

}  // namespace opsmith::compiler
