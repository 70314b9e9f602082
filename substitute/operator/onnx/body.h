#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/expression/index.h"

namespace opsmith::substitute::onnx {

using expression::Index;

/// A value of the function body with its shape: numbers where they are fixed, expressions in N, H
/// and W otherwise.
struct Value {
  graph::ValueId id = graph::kNoValue;
  std::vector<Index> shape;
};

/// Window of a convolution along one spatial dimension.
struct Window {
  int64_t size = 1, stride = 1, dilation = 1, padding_before = 0, padding_after = 0;
};

/// Appends standard operators to a function body in the forms of one opset (9 to 22), with the
/// symbolic shapes of their results. Nothing here fixes a symbolic extent.
class Body {
 public:
  Body(graph::Graph& graph, int64_t opset) : graph_(graph), opset_(opset) {}

  Value integers(const std::vector<int64_t>& values);
  Value constant(const std::string& hint, const Tensor& tensor);

  /// Throws Unsupported when the shape has an extent that neither a dimension of `value` nor the
  /// one free dimension of Reshape gives.
  Value reshape(const Value& value, const std::vector<Index>& shape);
  Value transpose(const Value& value, const std::vector<int64_t>& permutation);
  /// Cuts along one dimension: [begin, end) in steps; negative positions count from the end, and
  /// without `end` the cut runs to it. `extent` is what comes out.
  struct Cut {
    int64_t dimension = 0;
    int64_t begin = 0;
    std::optional<int64_t> end;
    int64_t step = 1;
    Index extent;
  };
  Value slice(const Value& value, const std::vector<Cut>& cuts);
  /// Zeros around; two numbers for each dimension.
  struct Margin {
    int64_t before = 0, after = 0;
  };
  Value pad(const Value& value, const std::vector<Margin>& margins);
  Value concatenate(const std::vector<Value>& values, int64_t dimension);
  /// Takes elements along a dimension; `positions` may have any shape.
  Value gather(const Value& value, const Shape& shape, const std::vector<int64_t>& positions,
               int64_t dimension);
  /// Moves element (i + amount) mod extent to i, for an amount in [0, extent).
  Value roll(const Value& value, int64_t dimension, int64_t amount);

  /// x [N, C, H, W], weights [O, C/groups, kh, kw], optional bias [O].
  Value convolution(const Value& x, const Value& weights, std::optional<graph::ValueId> bias,
                    int64_t groups, const Window& vertical, const Window& horizontal,
                    const Index& height, const Index& width);
  /// Batched over the leading dimensions, which must be equal or 1.
  Value matrix_product(const Value& a, const Value& b);
  /// "Add", "Mul", ...: operands of equal rank, extents equal or 1.
  Value binary(const std::string& type, const Value& a, const Value& b);
  Value unary(const std::string& type, const Value& value);
  /// "ReduceSum", "ReduceMax", ...; the dimensions disappear.
  Value reduce(const std::string& type, const Value& value, std::vector<int64_t> dimensions);

 private:
  Value add(const std::string& type, std::vector<graph::ValueId> inputs,
            std::map<std::string, graph::Attribute> attributes, std::vector<Index> shape);

  graph::Graph& graph_;
  int64_t opset_;
};

}  // namespace opsmith::substitute::onnx
