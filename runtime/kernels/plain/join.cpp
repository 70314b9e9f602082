#include <algorithm>
#include <cstring>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/dispatch.h"

// Concat and Split: contiguous runs of bytes along one axis.
namespace opsmith::kernels {
namespace {

std::vector<Tensor> concat(const PlainCall& call) {
  const Tensor& first = call.input(0);
  auto axis =
      static_cast<size_t>(normalize_axis(call.node.integer("axis", 1), first.rank(), call.node));
  Shape shape = first.shape();
  shape[axis] = 0;
  for (const Tensor& x : call.inputs) {
    Shape expected = first.shape();
    if (x.shape().size() != shape.size() || x.type() != first.type()) {
      throw UserError(describe(call.node) + ": inputs of different ranks or element types");
    }
    expected[axis] = x.shape()[axis];
    if (x.shape() != expected) {
      throw UserError(describe(call.node) + ": " + to_string(x.shape()) + " beside " +
                      to_string(first.shape()));
    }
    shape[axis] += x.shape()[axis];
  }
  Tensor y = call.output(0, first.type(), shape);
  auto width = static_cast<int64_t>(element_size(first.type()));
  if (width == 0) throw Unsupported(describe(call.node) + ": strings");
  int64_t outer = extent_product(shape, 0, axis);
  int64_t inner = extent_product(shape, axis + 1, shape.size()) * width;
  auto* out = static_cast<char*>(y.raw());
  for (int64_t o = 0; o < outer; ++o) {
    for (const Tensor& x : call.inputs) {
      int64_t run = x.shape()[axis] * inner;
      if (run == 0) continue;
      std::memcpy(out, static_cast<const char*>(x.raw()) + o * run, static_cast<size_t>(run));
      out += run;
    }
  }
  return {y};
}

// Sizes from the input or attribute `split`, else equal parts (the last may be smaller).
std::vector<Tensor> split(const PlainCall& call) {
  const Tensor& x = call.input(0);
  auto axis =
      static_cast<size_t>(normalize_axis(call.node.integer("axis", 0), x.rank(), call.node));
  int64_t extent = x.shape()[axis];
  auto parts = static_cast<int64_t>(call.node.outputs.size());
  std::vector<int64_t> sizes = call.integers(1, call.node.integers("split"));
  if (sizes.empty()) {
    int64_t each = (extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) {
      sizes.push_back(std::clamp<int64_t>(extent - i * each, 0, each));
    }
  }
  int64_t total = 0;
  for (int64_t size : sizes) total += size;
  if (total != extent || sizes.size() != call.node.outputs.size()) {
    throw UserError(describe(call.node) + ": its parts do not add up to " + std::to_string(extent));
  }
  auto width = static_cast<int64_t>(element_size(x.type()));
  if (width == 0) throw Unsupported(describe(call.node) + ": strings");
  int64_t outer = extent_product(x.shape(), 0, axis);
  int64_t inner = extent_product(x.shape(), axis + 1, x.shape().size()) * width;
  std::vector<Tensor> outputs;
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Shape shape = x.shape();
    shape[axis] = sizes[i];
    Tensor y = call.output(i, x.type(), shape);
    int64_t run = sizes[i] * inner;
    for (int64_t o = 0; o < outer && run > 0; ++o) {
      std::memcpy(static_cast<char*>(y.raw()) + o * run,
                  static_cast<const char*>(x.raw()) + (o * extent + begin) * inner,
                  static_cast<size_t>(run));
    }
    begin += sizes[i];
    outputs.push_back(y);
  }
  return outputs;
}

}  // namespace

std::vector<KernelDefinition> join_kernels() {
  return {{"Concat", nullptr, concat}, {"Split", nullptr, split}};
}

}  // namespace opsmith::kernels
