#pragma once

#include <llvm/IR/IRBuilder.h>

namespace opsmith::compiler {

/// Elementary functions emitted inline as polynomials, for f32 and f64, scalars and vectors; no
/// library is called. Errors are below 1e-6 relative, against the exact function of the argument
/// (measured in tests/runtime/compiler/vector_math_test.cpp); infinities and NaN are as in C.
class VectorMath {
 public:
  explicit VectorMath(llvm::IRBuilder<>& builder) : builder_(builder) {}

  llvm::Value* exp(llvm::Value* x);
  llvm::Value* log(llvm::Value* x);
  llvm::Value* tanh(llvm::Value* x);
  llvm::Value* erf(llvm::Value* x);
  llvm::Value* sin(llvm::Value* x);  ///< arguments up to 1e9
  llvm::Value* cos(llvm::Value* x);
  llvm::Value* power(llvm::Value* x, llvm::Value* y);

 private:
  llvm::Value* constant(llvm::Value* like, double value);
  llvm::Value* fused(llvm::Value* a, llvm::Value* b, llvm::Value* c);  ///< a * b + c
  /// Horner's scheme; the last coefficient is of degree 0.
  llvm::Value* polynomial(llvm::Value* x, std::initializer_list<double> coefficients);
  llvm::Value* absolute(llvm::Value* x);
  llvm::Value* copy_sign(llvm::Value* magnitude, llvm::Value* sign);
  bool is_double(llvm::Value* x);
  llvm::Type* integer_like(llvm::Value* x);  ///< integers as wide as x, as many
  /// exp(x) - 1 = scale * p + (scale - 1): how exp and tanh are made.
  struct Exponential {
    llvm::Value* p = nullptr;      ///< exp(r) - 1 of the reduced argument
    llvm::Value* half1 = nullptr;  ///< 2^n = half1 * half2, so that neither overflows
    llvm::Value* half2 = nullptr;  ///< nullptr where half1 is all of it
  };
  Exponential reduced_exponential(llvm::Value* x);
  Exponential reduced_exponential_single(llvm::Value* x);
  llvm::Value* erf_single(llvm::Value* x);
  llvm::Value* power_of_two(llvm::Value* n);
  llvm::Value* sine(llvm::Value* x, double quadrant);
  llvm::Value* widen(llvm::Value* x);  ///< f32 to f64
  llvm::Value* narrow(llvm::Value* x, llvm::Type* type);

  llvm::IRBuilder<>& builder_;
};

}  // namespace opsmith::compiler
