#include <algorithm>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/remap.h"

namespace opsmith::kernels {
namespace {

// Where position p of the padded tensor comes from; -1: the constant.
int64_t source_of(int64_t p, int64_t extent, const std::string& mode) {
  if (p >= 0 && p < extent) return p;
  if (extent == 0 || mode == "constant") return -1;
  if (mode == "edge") return std::clamp<int64_t>(p, 0, extent - 1);
  if (mode == "wrap") return (p % extent + extent) % extent;
  int64_t period = std::max<int64_t>(1, 2 * (extent - 1));  // reflect, without the edge
  p = (p % period + period) % period;
  return p < extent ? p : period - p;
}

// pads: attribute before opset 11 (`paddings` in opset 1), input since; value likewise.
std::vector<Tensor> pad(const PlainCall& call) {
  const Tensor& x = call.input(0);
  size_t rank = x.shape().size();
  std::vector<int64_t> pads =
      call.integers(1, call.node.integers("pads", call.node.integers("paddings")));
  std::string mode = call.node.text("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "wrap" && mode != "reflect") {
    throw Unsupported(describe(call.node) + ": mode " + mode);
  }
  std::vector<int64_t> axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  axes = call.integers(3, axes);
  if (pads.size() != 2 * axes.size()) {
    throw UserError(describe(call.node) + ": " + std::to_string(pads.size()) + " pads for " +
                    std::to_string(axes.size()) + " dimensions");
  }
  std::vector<int64_t> before(rank, 0), after(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = static_cast<size_t>(normalize_axis(axes[i], x.rank(), call.node));
    before[axis] = pads[i];
    after[axis] = pads[axes.size() + i];
  }
  Shape shape(rank);
  std::vector<std::vector<int64_t>> sources(rank);
  for (size_t i = 0; i < rank; ++i) {
    shape[i] = std::max<int64_t>(0, x.shape()[i] + before[i] + after[i]);
    for (int64_t p = 0; p < shape[i]; ++p) {
      sources[i].push_back(source_of(p - before[i], x.shape()[i], mode));
    }
  }
  Tensor value =
      call.has(2) ? call.input(2) : Tensor::scalar(call.node.real("value", 0.0F)).cast(x.type());
  Tensor y = call.output(0, x.type(), shape);
  remap(x, sources, value.count() > 0 ? value.raw() : nullptr, y, call.node);
  return {y};
}

}  // namespace

std::vector<KernelDefinition> pad_kernels() { return {{"Pad", nullptr, pad, Handling::Moved}}; }

}  // namespace opsmith::kernels
