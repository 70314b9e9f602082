#include <algorithm>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/dispatch.h"

namespace opsmith::kernels {
namespace {

// starts, ends, axes, steps: attributes before opset 10, inputs since.
std::vector<Tensor> slice(const PlainCall& call) {
  const Tensor& x = call.input(0);
  size_t rank = x.shape().size();
  std::vector<int64_t> starts = call.integers(1, call.node.integers("starts"));
  std::vector<int64_t> ends = call.integers(2, call.node.integers("ends"));
  std::vector<int64_t> all;
  for (size_t i = 0; i < starts.size(); ++i) all.push_back(static_cast<int64_t>(i));
  std::vector<int64_t> axes = call.integers(3, call.node.integers("axes", all));
  std::vector<int64_t> steps = call.integers(4, std::vector<int64_t>(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    throw UserError(describe(call.node) + ": starts, ends, axes and steps differ in length");
  }
  Shape shape = x.shape();
  std::vector<int64_t> strides = row_major_strides(shape);
  std::vector<int64_t> walk = strides;
  int64_t offset = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    auto axis = static_cast<size_t>(normalize_axis(axes[i], x.rank(), call.node));
    int64_t extent = x.shape()[axis], step = steps[i];
    if (step == 0) throw UserError(describe(call.node) + ": a step of 0");
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
    auto position = [&](int64_t p) {
      return std::clamp(p < 0 ? p + extent : p, step > 0 ? int64_t{0} : low, high);
    };
    int64_t start = starts[i] < 0 ? starts[i] + extent : starts[i];
    start = std::clamp<int64_t>(start, 0, std::max(int64_t{0}, high));
    int64_t end = position(ends[i]);
    if (step < 0 && ends[i] < 0 && ends[i] + extent < 0) end = -1;
    int64_t span = step > 0 ? end - start : start - end;
    int64_t magnitude = step > 0 ? step : -step;
    shape[axis] = extent == 0 ? 0 : std::max<int64_t>(0, (span + magnitude - 1) / magnitude);
    offset += start * strides[axis];
    walk[axis] = strides[axis] * step;
  }
  Tensor y = call.output(0, x.type(), shape);
  if (y.count() == 0) return {y};
  dispatch_size(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    const T* in = elements_as<T>(x) + offset;
    T* out = elements_as<T>(y);
    int64_t inner = rank == 0 ? 1 : shape[rank - 1];
    int64_t inner_step = rank == 0 ? 1 : walk[rank - 1];
    std::vector<int64_t> position(rank, 0);
    for (int64_t row = 0; row < y.count() / inner; ++row, out += inner) {
      if (inner_step == 1) {
        std::copy_n(in, inner, out);
      } else {
        for (int64_t i = 0; i < inner; ++i) out[i] = in[i * inner_step];
      }
      for (size_t i = rank < 1 ? 0 : rank - 1; i-- > 0;) {
        in += walk[i];
        if (++position[i] < shape[i]) break;
        in -= walk[i] * shape[i];
        position[i] = 0;
      }
    }
  });
  return {y};
}

}  // namespace

std::vector<KernelDefinition> slice_kernels() {
  return {{"Slice", nullptr, slice, Handling::Moved}};
}

}  // namespace opsmith::kernels
