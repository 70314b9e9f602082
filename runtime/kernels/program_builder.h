#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/kernels/lowering.h"

namespace opsmith::kernels {

/// Builds the program of one node with concrete extents. Iterators of a stage's axes are named
/// i0, i1, ..., those of its reduction r0, r1, ...
class ProgramBuilder {
 public:
  ProgramBuilder(const graph::Node& node, const LoweringContext& context)
      : node_(node), context_(context) {}

  const graph::Node& node() const { return node_; }
  int64_t opset() const { return context_.model->opset_of(node_); }
  size_t input_count() const { return context_.input_shapes.size(); }
  bool has(size_t input) const;
  const Shape& shape(size_t input) const { return context_.input_shapes.at(input); }
  ElementType type(size_t input) const { return context_.input_types.at(input); }
  /// Whether all inputs that are present have this type.
  bool all_of_type(ElementType type) const;
  /// Whether they all are f32 or all f64; stages of type f32 are then of that type.
  bool takes_reals();
  /// The same of one input.
  bool takes_reals(size_t input);
  /// Whether all are of one type that the compiler computes in: also integers, but not halves.
  bool takes_numbers();
  /// nullptr when the input is not constant.
  const Tensor* constant(size_t input) const;
  /// The integers of a constant input, else those of the attribute; throws Unsupported when the
  /// input is there and not constant.
  std::vector<int64_t> integers(size_t input, const std::string& attribute,
                                const std::vector<int64_t>& fallback = {}) const;

  /// A read of the node's input at `indices`; the value itself for a constant of one element.
  expression::Scalar read(size_t input, std::vector<expression::Index> indices);
  /// A read broadcast numpy-style into a stage of shape `output` with axes i0, i1, ...
  expression::Scalar read_broadcast(size_t input, const Shape& output);
  /// The same for an input that is seen as `from`, its shape with trailing extents of 1.
  expression::Scalar read_broadcast(size_t input, const Shape& from, const Shape& output);
  /// As read_broadcast, along one axis of the stage: input[i<axis>].
  expression::Scalar read_along(size_t input, size_t axis);

  /// Appends a stage with axes i0, i1, ... of these extents and returns its name.
  std::string add_stage(expression::Stage stage);

  /// The program with these stages as outputs.
  Lowered finish(const std::vector<std::string>& outputs);

  [[noreturn]] void unsupported(const std::string& what) const;

 private:
  const graph::Node& node_;
  const LoweringContext& context_;
  std::vector<int> declared_;
  std::vector<expression::Stage> stages_;
  ElementType real_ = ElementType::Float32;
};

/// Iterator "i<n>" of a stage axis, or "r<n>" of a reduction axis.
expression::Index axis(size_t n);
expression::Index reduction_axis(size_t n);
std::vector<expression::Index> all_axes(size_t rank);
std::vector<expression::Axis> make_axes(const Shape& extents);
std::vector<expression::Axis> make_reduction_axes(const Shape& extents);

/// A stage that maps elements: axes over `shape`, no reduction.
expression::Stage map_stage(const std::string& name, const Shape& shape, expression::Scalar body,
                            ElementType type = ElementType::Float32);
/// A stage that reduces: axes over `shape`, reduction axes over `extents`.
expression::Stage reduce_stage(const std::string& name, const Shape& shape,
                               expression::Reduction reduction, const Shape& extents,
                               expression::Scalar body);

}  // namespace opsmith::kernels
