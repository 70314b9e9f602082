#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/onnx_types.h"
#include "runtime/kernels/plain/dispatch.h"
#include "runtime/kernels/plain/quantized.h"
#include "support/error.h"

// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
namespace opsmith::kernels {
namespace {

/// Which entry of the scales belongs to each element: one for all, one per entry of an axis, or one
/// per block of `block` entries along it.
class ScaleIndex {
 public:
  ScaleIndex(const PlainCall& call, const Shape& x, const Shape& scale) : x_(x) {
    const int64_t count = element_count(scale);
    if (scale.size() <= 1 && count == 1) return;
    const auto rank = static_cast<int64_t>(x.size());
    const auto axis =
        static_cast<size_t>(normalize_axis(call.node.integer("axis", 1), rank, call.node));
    extents_ = Shape(x.size(), 1);
    block_ = std::vector<int64_t>(x.size(), 1);
    if (scale.size() == x.size() && rank > 1) {
      extents_ = scale;
      block_[axis] = call.node.integer("block_size", 0);
      if (block_[axis] < 1)
        block_[axis] = (x[axis] + scale[axis] - 1) / std::max<int64_t>(1, scale[axis]);
    } else {
      extents_[axis] = count;
    }
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t needed = (x[i] + block_[i] - 1) / std::max<int64_t>(1, block_[i]);
      if (extents_[i] != needed && extents_[i] != 1) {
        throw UserError(describe(call.node) + ": scales " + to_string(scale) +
                        " do not fit the input " + to_string(x));
      }
    }
  }

  int64_t operator()(int64_t flat) const {
    int64_t index = 0, stride = 1;
    for (size_t i = extents_.size(); i-- > 0;) {
      const int64_t position = flat % x_[i];
      flat /= x_[i];
      if (extents_[i] > 1) index += position / block_[i] * stride;
      stride *= extents_[i];
    }
    return index;
  }

 private:
  const Shape& x_;
  Shape extents_;
  std::vector<int64_t> block_;
};

ElementType quantized_type(const PlainCall& call) {
  if (call.has(2)) return call.input(2).type();
  const int64_t wanted = call.node.integer("output_dtype", 0);
  return wanted == 0 ? ElementType::UInt8 : onnx_element_type(wanted, call.node);
}

// y = saturate(round(x / scale) + zero point).
std::vector<Tensor> quantize(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const Tensor numbers = x.cast(ElementType::Float32);
  const Tensor scales = call.input(1).cast(ElementType::Float32);
  const ElementType type = quantized_type(call);
  const ScaleIndex scale_of(call, x.shape(), call.input(1).shape());
  Tensor y = call.output(0, type, x.shape());
  const auto in = numbers.data<float>();
  const auto scale = scales.data<float>();
  if (is_float8(type)) {
    Tensor ratios(ElementType::Float32, x.shape());
    for (size_t i = 0; i < in.size(); ++i) {
      ratios.data<float>()[i] =
          in[i] / scale[static_cast<size_t>(scale_of(static_cast<int64_t>(i)))];
    }
    const Tensor rounded = ratios.cast(type, call.node.integer("saturate", 1) != 0);
    if (y.bytes() > 0) std::memcpy(y.raw(), rounded.raw(), y.bytes());
    return {y};
  }
  const std::vector<int64_t> zeros = zero_points(call, 2);
  const auto [low, high] = quantized_range(type, call.node);
  for (size_t i = 0; i < in.size(); ++i) {
    const auto at = static_cast<size_t>(scale_of(static_cast<int64_t>(i)));
    const double zero = zeros.empty() ? 0.0 : static_cast<double>(zeros.at(at));
    const float ratio = in[i] / scale[at];
    store_quantized(
        y, static_cast<int64_t>(i),
        std::isnan(ratio) ? zero : std::clamp(std::nearbyint(double{ratio}) + zero, low, high));
  }
  return {y};
}

// y = (x - zero point) * scale.
std::vector<Tensor> dequantize(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const Tensor numbers = x.cast(ElementType::Float64);
  const Tensor scales = call.input(1).cast(ElementType::Float32);
  const Tensor zeros = call.has(2) ? call.input(2).cast(ElementType::Float64) : Tensor();
  const ScaleIndex scale_of(call, x.shape(), call.input(1).shape());
  Tensor wide(ElementType::Float32, x.shape());
  const auto in = numbers.data<double>();
  for (size_t i = 0; i < in.size(); ++i) {
    const auto at = static_cast<size_t>(scale_of(static_cast<int64_t>(i)));
    const double zero = zeros.defined() ? zeros.data<double>()[at] : 0;
    wide.data<float>()[i] = static_cast<float>(in[i] - zero) * scales.data<float>()[at];
  }
  const Tensor rounded = wide.cast(call.input(1).type());
  Tensor y = call.output(0, call.input(1).type(), x.shape());
  if (y.bytes() > 0) std::memcpy(y.raw(), rounded.raw(), y.bytes());
  return {y};
}

// To u8 with the scale and zero point that the range of x, widened to hold 0, asks for.
std::vector<Tensor> dynamic_quantize(const PlainCall& call) {
  const Tensor& x = call.input(0);
  float low = 0, high = 0;
  for (const float value : x.data<float>()) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const float scale = (high - low) / 255;
  const float zero = scale == 0 ? 0 : std::nearbyint(std::clamp(-low / scale, 0.0F, 255.0F));
  Tensor y = call.output(0, ElementType::UInt8, x.shape());
  for (size_t i = 0; i < x.data<float>().size(); ++i) {
    const float ratio = scale == 0 ? 0 : std::nearbyint(x.data<float>()[i] / scale);
    y.data<uint8_t>()[i] = static_cast<uint8_t>(std::clamp(ratio + zero, 0.0F, 255.0F));
  }
  Tensor scale_out = call.output(1, ElementType::Float32, {});
  scale_out.data<float>()[0] = scale;
  Tensor zero_out = call.output(2, ElementType::UInt8, {});
  zero_out.data<uint8_t>()[0] = static_cast<uint8_t>(zero);
  return {y, scale_out, zero_out};
}

}  // namespace

std::vector<KernelDefinition> quantization_kernels() {
  return {{"QuantizeLinear", nullptr, quantize},
          {"DequantizeLinear", nullptr, dequantize},
          {"DynamicQuantizeLinear", nullptr, dynamic_quantize}};
}

}  // namespace opsmith::kernels
