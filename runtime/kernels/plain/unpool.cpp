#include <algorithm>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/dispatch.h"
#include "runtime/kernels/plain/remap.h"
#include "runtime/kernels/window.h"
#include "support/error.h"

// Operators that put pieces of an image back: MaxUnpool, Col2Im, CenterCropPad.
namespace opsmith::kernels {
namespace {

// Each element goes to its flat position in a tensor of the size that the pooling attributes undo
// to; a larger output_shape holds that tensor at its beginning.
std::vector<Tensor> max_unpool(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const graph::Node& node = call.node;
  const std::vector<int64_t> kernel = node.integers("kernel_shape");
  const size_t rank = kernel.size();
  const std::vector<int64_t> strides = node.integers("strides", std::vector<int64_t>(rank, 1));
  const std::vector<int64_t> pads = node.integers("pads", std::vector<int64_t>(2 * rank, 0));
  if (x.shape().size() != rank + 2 || strides.size() != rank || pads.size() != 2 * rank ||
      call.input(1).shape() != x.shape()) {
    throw UserError(describe(node) + ": kernel_shape, strides, pads and indices do not fit " +
                    to_string(x.shape()));
  }
  Shape inner = {x.shape()[0], x.shape()[1]};
  for (size_t i = 0; i < rank; ++i) {
    inner.push_back((x.shape()[2 + i] - 1) * strides[i] - pads[i] - pads[rank + i] + kernel[i]);
  }
  const Shape outer = call.has(2) ? Shape(call.integers(2)) : inner;
  bool fits = outer.size() == inner.size();
  for (size_t i = 0; fits && i < inner.size(); ++i) fits = outer[i] >= inner[i];
  if (!fits)
    throw UserError(describe(node) + ": output_shape " + to_string(outer) + " is too small");
  const std::vector<int64_t> indices = call.integers(1);
  Tensor y = call.output(0, x.type(), outer);
  const int64_t count = element_count(inner);
  dispatch_size(x.type(), node, [&](auto tag) {
    using T = decltype(tag);
    T* out = elements_as<T>(y);
    std::fill_n(out, y.count(), T{});
    for (size_t i = 0; i < indices.size(); ++i) {
      int64_t rest = checked_index(indices[i], count, node), offset = 0, stride = 1;
      for (size_t d = inner.size(); d-- > 0;) {
        offset += rest % inner[d] * stride;
        rest /= inner[d];
        stride *= outer[d];
      }
      out[offset] = elements_as<T>(x)[i];
    }
  });
  return {y};
}

// [N, C * taps, blocks] to [N, C, image...]: every block is added where it was taken.
std::vector<Tensor> columns_to_image(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const Shape image = call.integers(1), block = call.integers(2);
  const Window window = make_window(call.node, image, block);
  const int64_t taps = element_count(block), blocks = element_count(window.output);
  const Shape& xs = x.shape();
  if (xs.size() != 3 || xs[1] % taps != 0 || xs[2] != blocks) {
    throw UserError(describe(call.node) + ": columns " + to_string(xs) + " do not fit an image " +
                    to_string(image) + " of blocks " + to_string(block));
  }
  Shape shape = {xs[0], xs[1] / taps};
  shape.insert(shape.end(), image.begin(), image.end());
  Tensor y = call.output(0, x.type(), shape);
  const int64_t plane = element_count(image);
  dispatch_numeric(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    T* out = elements_as<T>(y);
    std::fill_n(out, y.count(), T{});
    for (int64_t flat = 0; flat < x.count(); ++flat) {
      int64_t at = flat % blocks, tap = flat / blocks % taps, offset = 0, stride = 1;
      bool inside = true;
      for (size_t i = window.rank(); i-- > 0;) {
        const int64_t p = at % window.output[i] * window.strides[i] + window.origin(i) +
                          tap % block[i] * window.dilations[i];
        at /= window.output[i];
        tap /= block[i];
        inside = inside && p >= 0 && p < image[i];
        offset += p * stride;
        stride *= image[i];
      }
      if (!inside) continue;
      T& target = out[flat / blocks / taps * plane + offset];
      target = static_cast<T>(target + elements_as<T>(x)[flat]);
    }
  });
  return {y};
}

// Each axis cropped or padded with zeros to its target, the same at both ends; one more at the end
// where that is odd.
std::vector<Tensor> center_crop_pad(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const std::vector<int64_t> targets = call.integers(1);
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  axes = call.node.integers("axes", axes);
  if (axes.size() != targets.size()) {
    throw UserError(describe(call.node) + ": as many extents as axes are needed");
  }
  Shape shape = x.shape();
  for (size_t i = 0; i < axes.size(); ++i) {
    shape[static_cast<size_t>(normalize_axis(axes[i], x.rank(), call.node))] = targets[i];
  }
  element_count(shape);  // refuses negative and absurd extents
  std::vector<std::vector<int64_t>> sources(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t extent = x.shape()[i];
    const int64_t shift = extent >= shape[i] ? (extent - shape[i]) / 2 : -((shape[i] - extent) / 2);
    for (int64_t p = 0; p < shape[i]; ++p) {
      sources[i].push_back(p + shift >= 0 && p + shift < extent ? p + shift : -1);
    }
  }
  Tensor y = call.output(0, x.type(), shape);
  remap(x, sources, nullptr, y, call.node);
  return {y};
}

}  // namespace

std::vector<KernelDefinition> unpool_kernels() {
  return {{"MaxUnpool", nullptr, max_unpool},
          {"Col2Im", nullptr, columns_to_image, Handling::Widened},
          {"CenterCropPad", nullptr, center_crop_pad, Handling::Moved}};
}

}  // namespace opsmith::kernels
