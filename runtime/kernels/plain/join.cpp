#include <algorithm>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/pieces.h"
#include "support/error.h"

// Concat and Split: contiguous runs along one axis.
namespace opsmith::kernels {
namespace {

PlacePiece outputs_of(const PlainCall& call) {
  return [&call](size_t i, ElementType type, const Shape& shape) {
    return call.output(i, type, shape);
  };
}

std::vector<Tensor> concat(const PlainCall& call) {
  const auto axis = static_cast<size_t>(
      normalize_axis(call.node.integer("axis", 1), call.input(0).rank(), call.node));
  return {join(call.inputs, axis, call.node, outputs_of(call))};
}

// Sizes from the input or attribute `split`, else equal parts, of which the last may be smaller.
std::vector<Tensor> split(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const auto axis =
      static_cast<size_t>(normalize_axis(call.node.integer("axis", 0), x.rank(), call.node));
  const int64_t extent = x.shape()[axis];
  const auto parts = static_cast<int64_t>(call.node.outputs.size());
  std::vector<int64_t> sizes = call.integers(1, call.node.integers("split"));
  if (sizes.empty()) {
    const int64_t each = (extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) {
      sizes.push_back(std::clamp<int64_t>(extent - i * each, 0, each));
    }
  }
  if (sizes.size() != call.node.outputs.size()) {
    throw UserError(describe(call.node) + ": " + std::to_string(sizes.size()) + " parts for " +
                    std::to_string(parts) + " outputs");
  }
  return cut(x, axis, sizes, call.node, outputs_of(call));
}

}  // namespace

std::vector<KernelDefinition> join_kernels() {
  return {{"Concat", nullptr, concat}, {"Split", nullptr, split}};
}

}  // namespace opsmith::kernels
