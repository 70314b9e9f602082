#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/expression/index.h"
#include "runtime/expression/scalar.h"
#include "support/tensor.h"

namespace opsmith::expression {

/// An iterator with the size of its domain [0, extent).
struct Axis {
  std::string name;
  Index extent;
  bool operator==(const Axis&) const = default;
};

/// Product and Sum of nothing are 1 and 0, Maximum and Minimum of nothing the infinities (for
/// integers the limits of the type). NaN wins in Maximum and Minimum.
enum class Reduction : uint8_t { None, Sum, Maximum, Minimum, Product };

/// Computes one tensor:
///
///   name[axes] = epilogue(reduction over reduction_axes of body)
///
/// A read outside its tensor, or with a violated `within`, has the value `fill`.
///
/// A *scatter* stage (`target` not empty) instead adds body into name[target] for every point of
/// axes; its tensor has shape `target_shape` and starts at zero. It is the general adjoint of a
/// read.
struct Stage {
  std::string name;
  ElementType type = ElementType::Float32;
  std::vector<Axis> axes;
  Reduction reduction = Reduction::None;
  std::vector<Axis> reduction_axes;
  ElementType accumulation = ElementType::Float32;
  Scalar body = Scalar::constant(0);
  std::optional<Scalar> epilogue;  ///< over `_` and reads indexed by `axes`
  double fill = 0;
  std::vector<Index> target;
  std::vector<Index> target_shape;

  bool operator==(const Stage&) const = default;
  bool scatters() const { return !target.empty(); }
  /// Extents of the tensor that the stage makes.
  std::vector<Index> shape() const;
};

struct TensorDeclaration {
  std::string name;
  ElementType type = ElementType::Float32;
  std::vector<Index> shape;
  bool operator==(const TensorDeclaration&) const = default;
};

/// A tensor-expression program over named size symbols. Stages may read inputs, weights and
/// earlier stages. See docs/expressions.md for the text form.
struct Program {
  std::string name;
  std::vector<TensorDeclaration> inputs;
  std::vector<TensorDeclaration> weights;
  std::vector<Stage> stages;
  std::vector<std::string> outputs;  ///< names of stages

  bool operator==(const Program&) const = default;

  const Stage* find_stage(const std::string& stage_name) const;
  /// Shape of an input, weight or stage. Throws InternalError when there is none of that name.
  std::vector<Index> shape_of(const std::string& tensor_name) const;
  ElementType type_of(const std::string& tensor_name) const;
  /// Symbols that are not bound, sorted.
  std::vector<std::string> symbols() const;
};

/// The type of `_` in the epilogue of a stage: of its accumulation when it reduces, otherwise that
/// of the body (of the stage, when the body is made of constants only).
ElementType reduced_type(const Program& program, const Stage& stage);

/// Stable text form (docs/expressions.md); parse(print(p)) equals p for every valid program.
std::string print(const Program& program);
/// Throws UserError with line, column and what was expected there. Only the form is checked: see
/// `validate`.
Program parse(const std::string& text);

/// 128 bits in hex, the same on every machine; depends on the printed form with tensor, iterator
/// and stage names made canonical.
std::string content_hash(const Program& program);

/// Names the first fault: an undeclared tensor, a wrong rank, an unbound iterator, a stage used
/// before it is made. Throws UserError.
void validate(const Program& program);

/// Replaces bound symbols by numbers and simplifies.
Program instantiate(const Program& program, const Binding& binding);

/// Multiply-accumulates: per stage with a sum or a scatter, the size of axes and reduction axes
/// times max(factors - 1, 1), where factors are the reads multiplied in the body; 0 for other
/// stages. Symbols must be bound.
int64_t multiply_accumulates(const Stage& instantiated);
int64_t multiply_accumulates(const Program& instantiated);
/// Elements of all weights. Symbols must be bound.
int64_t parameter_count(const Program& instantiated);

/// Infers the binding of symbols from the shapes of actual tensors (declared shapes that are a
/// bare symbol bind it, the rest is checked). Throws UserError when they contradict.
Binding infer_binding(const Program& program, const std::map<std::string, Shape>& shapes,
                      Binding known = {});

}  // namespace opsmith::expression
