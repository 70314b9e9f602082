#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/expression/program.h"

namespace opsmith::kernels {

/// What a lowering sees of a node: shapes are concrete, constants known.
struct LoweringContext {
  const graph::Model* model = nullptr;
  const graph::Graph* graph = nullptr;
  std::vector<Shape> input_shapes;  ///< of absent inputs: empty
  std::vector<ElementType> input_types;
  std::vector<Shape> output_shapes;
  std::vector<ElementType> output_types;
};

/// A node as an expression: program inputs "x0", "x1"... stand for data inputs and weights for
/// constant ones; `arguments[i]` is the node input that the i-th input-or-weight is.
struct Lowered {
  expression::Program program;
  std::vector<int> arguments;
};

/// Turns a node into a program; nullopt when this node is no expression (then it needs a plain
/// kernel). Throws Unsupported naming the node.
using Lowering = std::function<std::optional<Lowered>(const graph::Node&, const LoweringContext&)>;

/// Computes a node plainly on row-major tensors. Inputs that are absent are undefined tensors.
using PlainKernel = std::function<std::vector<Tensor>(const graph::Node&, const graph::Model& model,
                                                      std::span<const Tensor> inputs)>;

/// How a graph operator is run; one line per operator in its family's file. At least one of the
/// two is there.
struct KernelDefinition {
  std::string type;  ///< "Conv" of ONNX's domain, "opsmith.Substituted" otherwise
  Lowering lowering;
  PlainKernel plain;
};

/// nullptr when there is none.
const KernelDefinition* find_kernel(const std::string& domain, const std::string& type);

}  // namespace opsmith::kernels
