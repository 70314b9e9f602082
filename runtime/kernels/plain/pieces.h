#pragma once

#include <functional>
#include <vector>

#include "runtime/kernels/lowering.h"

namespace opsmith::kernels {

/// Where piece i of a tensor, or the whole, is to be written.
using PlacePiece = std::function<Tensor(size_t i, ElementType type, const Shape& shape)>;

/// The tensors one behind the other along an axis that they have. They must agree in type and in
/// all other extents; any element type. Throws UserError naming the node.
Tensor join(std::span<const Tensor> parts, size_t axis, const graph::Node& node,
            const PlacePiece& place = nullptr);

/// The pieces of these sizes along an axis; the sizes must add up to its extent.
std::vector<Tensor> cut(const Tensor& x, size_t axis, const std::vector<int64_t>& sizes,
                        const graph::Node& node, const PlacePiece& place = nullptr);

}  // namespace opsmith::kernels
