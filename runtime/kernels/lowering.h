#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/expression/program.h"

namespace opsmith::kernels {

using graph::describe;

/// What a lowering sees of a node: shapes are concrete, constants known.
struct LoweringContext {
  const graph::Model* model = nullptr;
  std::vector<Shape> input_shapes;  ///< of absent inputs: empty
  std::vector<ElementType> input_types;
  std::vector<const Tensor*> constants;  ///< per input; nullptr where it is not constant
};

/// A node as an expression: program inputs "x0", "x1"... stand for data inputs and weights for
/// constant ones; `arguments[i]` is the node input that the i-th input-or-weight is (inputs
/// first). Constants of one element are written into the program. The program's outputs are the
/// node's first outputs.
struct Lowered {
  expression::Program program;
  std::vector<int> arguments;
};

/// Turns a node into a program; nullopt when this node is no expression (then it needs a plain
/// kernel). Throws Unsupported naming the node.
using Lowering = std::function<std::optional<Lowered>(const graph::Node&, const LoweringContext&)>;

/// One call of a plain kernel: inputs are row-major, absent ones undefined tensors.
struct PlainCall {
  const graph::Node& node;
  const graph::Model& model;
  std::span<const Tensor> inputs;
  /// Where output i is to be written; returns an undefined tensor to decline. May be empty.
  std::function<Tensor(size_t, ElementType, const Shape&)> place;

  int64_t opset() const { return model.opset_of(node); }
  bool has(size_t i) const { return i < inputs.size() && inputs[i].defined(); }
  /// Input i. Throws UserError naming the node when it is absent.
  const Tensor& input(size_t i) const;
  /// Memory for output i, uninitialised.
  Tensor output(size_t i, ElementType type, const Shape& shape) const;
  /// Input i as 64-bit integers (any integer type), `fallback` when it is absent.
  std::vector<int64_t> integers(size_t i, const std::vector<int64_t>& fallback = {}) const;
};

/// Computes a node plainly on row-major tensors.
using PlainKernel = std::function<std::vector<Tensor>(const PlainCall&)>;

/// What a kernel does with element types that need care.
enum class Handling {
  /// A plain kernel beside a lowering computes half types in f32, one that stands alone takes the
  /// types itself.
  Default,
  Widened,  ///< computes: half types run in f32
  Moved,    ///< moves whole elements: any type, strings and tensors in sequences too
};

/// How a graph operator is run; one line per operator in its family's file. At least one of the
/// two is there. Where both are, the lowering comes first and the plain kernel takes what it
/// declines (element types other than f32, rare attributes).
struct KernelDefinition {
  std::string type;  ///< "Conv" of ONNX's domain; "opsmith" stands for all synthesized operators
  Lowering lowering;
  PlainKernel plain;
  Handling handling = Handling::Default;
};

/// Whether half types have to be cast to f32 for the node's plain kernel and lowering.
bool computes_wide(const KernelDefinition& definition, const graph::Node& node);

/// nullptr when there is none.
const KernelDefinition* find_kernel(const std::string& domain, const std::string& type);

/// Names of all operators of ONNX's domain that can be run, sorted.
std::vector<std::string> supported_operators();

}  // namespace opsmith::kernels
