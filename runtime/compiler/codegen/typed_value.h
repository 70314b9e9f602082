#pragma once

#include <llvm/IR/IRBuilder.h>

#include "runtime/compiler/codegen/vector_math.h"
#include "runtime/expression/program.h"

namespace opsmith::compiler {

/// A value of generated code with its element type: a scalar, or a vector of one lane for each
/// point. f16 and bf16 are computed with as f32; Bool is an 8-bit integer, 0 or 1.
struct TypedValue {
  llvm::Value* value = nullptr;
  ElementType type = ElementType::Float32;
  bool adapts = false;  ///< a number without a type of its own: takes that of what it meets
};

/// Arithmetic on typed values. Operands of different types meet in the wider one, an integer and a
/// floating-point number in the latter.
class Arithmetic {
 public:
  /// Values are vectors of `lanes`, scalars for 1.
  Arithmetic(llvm::IRBuilder<>& builder, int64_t lanes) : builder_(builder), lanes_(lanes) {}

  /// How `type` lies in memory.
  llvm::Type* memory_type(ElementType type, int64_t lanes) const;
  /// What is computed with: f32 for f16 and bf16.
  static ElementType computed(ElementType type);
  llvm::Type* register_type(ElementType type) const;
  int64_t lanes() const { return lanes_; }

  TypedValue from_memory(llvm::Value* loaded, ElementType type);
  /// Rounded or truncated to what `type` has in memory.
  llvm::Value* to_memory(const TypedValue& value, ElementType type);

  TypedValue constant(double value);
  llvm::Value* constant(ElementType type, double value);
  /// As a C++ cast; numbers that do not fit an integer type take its nearest.
  TypedValue convert(const TypedValue& value, ElementType type);
  /// Rounds to `type` and goes on with what is computed with.
  TypedValue cast(const TypedValue& value, ElementType type);

  TypedValue unary(expression::Unary function, TypedValue x);
  TypedValue binary(expression::Binary function, TypedValue a, TypedValue b);
  TypedValue select(const TypedValue& condition, TypedValue then, TypedValue otherwise);
  /// accumulator op value; fused with a product that made the value.
  llvm::Value* combine(expression::Reduction reduction, ElementType type, llvm::Value* accumulator,
                       llvm::Value* value);
  llvm::Value* identity(expression::Reduction reduction, ElementType type);
  /// Combines the lanes of one vector into a scalar.
  llvm::Value* combine_lanes(expression::Reduction reduction, ElementType type,
                             llvm::Value* vector);

 private:
  llvm::Type* with_lanes(llvm::Type* type, int64_t lanes) const;
  void meet(TypedValue& a, TypedValue& b);
  llvm::Value* is_true(const TypedValue& value);  ///< i1
  TypedValue truth(llvm::Value* bits);            ///< from i1
  TypedValue divide(const TypedValue& a, const TypedValue& b);
  TypedValue modulo(const TypedValue& a, const TypedValue& b);
  llvm::Value* extreme(ElementType type, llvm::Value* a, llvm::Value* b, bool largest);

  llvm::IRBuilder<>& builder_;
  int64_t lanes_;
};

bool is_floating(ElementType type);
bool is_signed(ElementType type);

}  // namespace opsmith::compiler
