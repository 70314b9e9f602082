#include "runtime/kernels/plain/pieces.h"

#include <algorithm>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/plain/dispatch.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

Tensor placed(const PlacePiece& place, size_t i, ElementType type, const Shape& shape) {
  return place ? place(i, type, shape) : Tensor(type, shape);
}

}  // namespace

Tensor join(std::span<const Tensor> parts, size_t axis, const graph::Node& node,
            const PlacePiece& place) {
  const Tensor& first = parts[0];
  Shape shape = first.shape();
  shape.at(axis) = 0;
  for (const Tensor& part : parts) {
    if (part.shape().size() != shape.size() || part.type() != first.type()) {
      throw UserError(describe(node) + ": inputs of different ranks or element types");
    }
    Shape expected = first.shape();
    expected[axis] = part.shape()[axis];
    if (part.shape() != expected) {
      throw UserError(describe(node) + ": " + to_string(part.shape()) + " beside " +
                      to_string(first.shape()));
    }
    shape[axis] += part.shape()[axis];
  }
  Tensor whole = placed(place, 0, first.type(), shape);
  const int64_t outer = extent_product(shape, 0, axis);
  const int64_t inner = extent_product(shape, axis + 1, shape.size());
  dispatch_element(first.type(), node, [&](auto tag) {
    using T = decltype(tag);
    T* out = elements_as<T>(whole);
    for (int64_t o = 0; o < outer; ++o) {
      for (const Tensor& part : parts) {
        const int64_t run = part.shape()[axis] * inner;
        out = std::copy_n(elements_as<T>(part) + o * run, run, out);
      }
    }
  });
  return whole;
}

std::vector<Tensor> cut(const Tensor& x, size_t axis, const std::vector<int64_t>& sizes,
                        const graph::Node& node, const PlacePiece& place) {
  const int64_t extent = x.shape().at(axis);
  int64_t total = 0;
  for (const int64_t size : sizes) total += size;
  if (total != extent || std::any_of(sizes.begin(), sizes.end(), [](int64_t s) { return s < 0; })) {
    throw UserError(describe(node) + ": its parts do not add up to " + std::to_string(extent));
  }
  const int64_t outer = extent_product(x.shape(), 0, axis);
  const int64_t inner = extent_product(x.shape(), axis + 1, x.shape().size());
  std::vector<Tensor> pieces;
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Shape shape = x.shape();
    shape[axis] = sizes[i];
    Tensor piece = placed(place, i, x.type(), shape);
    const int64_t run = sizes[i] * inner;
    dispatch_element(x.type(), node, [&](auto tag) {
      using T = decltype(tag);
      for (int64_t o = 0; o < outer && run > 0; ++o) {
        std::copy_n(elements_as<T>(x) + (o * extent + begin) * inner, run,
                    elements_as<T>(piece) + o * run);
      }
    });
    begin += sizes[i];
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace opsmith::kernels
