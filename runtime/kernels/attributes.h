#pragma once

#include <cstdint>
#include <vector>

#include "runtime/kernels/lowering.h"

namespace opsmith::kernels {

/// An axis counted from the end when negative, in [0, rank). Throws UserError naming the node.
int64_t normalize_axis(int64_t axis, int64_t rank, const graph::Node& node);

/// Axes in ascending order, each in [0, rank), without repetition.
std::vector<int64_t> normalize_axes(std::vector<int64_t> axes, int64_t rank,
                                    const graph::Node& node);

/// An index counted from the end when negative, in [0, extent). Throws UserError naming the node.
int64_t checked_index(int64_t index, int64_t extent, const graph::Node& node);

/// The shape of a numpy-style broadcast. Throws UserError naming the node where it is none.
Shape broadcast_shapes(const Shape& a, const Shape& b, const graph::Node& node);

/// The shape in which operand b of a binary operator takes part in the broadcast. Before operator
/// set 7 the attributes `broadcast` and `axis` said with which dimensions of a it is aligned; then
/// b gets trailing extents of 1.
Shape aligned_shape(const Shape& a, const Shape& b, const graph::Node& node, int64_t opset);

/// The elements of an integer tensor as 64-bit integers.
std::vector<int64_t> to_integers(const Tensor& tensor, const graph::Node& node);

/// Elements between neighbours along each dimension of a dense row-major tensor.
std::vector<int64_t> row_major_strides(const Shape& shape);

/// Product of the extents [begin, end).
int64_t extent_product(const Shape& shape, size_t begin, size_t end);

}  // namespace opsmith::kernels
