#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/remap.h"
#include "support/error.h"

// Expand and Tile.
namespace opsmith::kernels {
namespace {

std::vector<Tensor> repeat(const PlainCall& call, const Tensor& x, const Shape& shape) {
  std::vector<std::vector<int64_t>> sources(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    for (int64_t p = 0; p < shape[i]; ++p) sources[i].push_back(p % x.shape()[i]);
  }
  Tensor y = call.output(0, x.type(), shape);
  remap(x, sources, nullptr, y, call.node);
  return {y};
}

std::vector<Tensor> expand(const PlainCall& call) {
  const Tensor& x = call.input(0);
  Shape shape = broadcast_shapes(x.shape(), call.integers(1), call.node);
  Shape padded(shape.size() - x.shape().size(), 1);
  padded.insert(padded.end(), x.shape().begin(), x.shape().end());
  return repeat(call, x.reshaped(padded), shape);
}

std::vector<Tensor> tile(const PlainCall& call) {
  const Tensor& x = call.input(0);
  std::vector<int64_t> repeats = call.integers(1);
  if (call.opset() < 6) {  // x, how often, along which axis
    const auto axis =
        static_cast<size_t>(normalize_axis(call.integers(2).at(0), x.rank(), call.node));
    const int64_t count = repeats.at(0);
    repeats.assign(x.shape().size(), 1);
    repeats[axis] = count;
  }
  if (repeats.size() != x.shape().size()) {
    throw UserError(describe(call.node) + ": " + std::to_string(repeats.size()) + " repeats for " +
                    std::to_string(x.rank()) + " dimensions");
  }
  Shape shape = x.shape();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i] < 0 || __builtin_mul_overflow(shape[i], repeats[i], &shape[i])) {
      throw UserError(describe(call.node) + ": repeats " + to_string(Shape(repeats)));
    }
  }
  element_count(shape);  // refuses absurd extents
  return repeat(call, x, shape);
}

}  // namespace

std::vector<KernelDefinition> repeat_kernels() {
  return {{"Expand", nullptr, expand, Handling::Moved}, {"Tile", nullptr, tile, Handling::Moved}};
}

}  // namespace opsmith::kernels
