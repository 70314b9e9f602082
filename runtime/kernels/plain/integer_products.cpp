#include <algorithm>
#include <cmath>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/broadcast.h"
#include "runtime/kernels/plain/dispatch.h"
#include "runtime/kernels/plain/quantized.h"
#include "runtime/kernels/plain/reals.h"
#include "runtime/kernels/window.h"
#include "support/error.h"

// Products of quantised integers: MatMulInteger, QLinearMatMul, ConvInteger, QLinearConv. Sums are
// exact 32-bit integers, wrapping as the specification's int32 does.
namespace opsmith::kernels {
namespace {

/// A quantised operand less its zero points: one, or one for each index along `axis`.
std::vector<int32_t> centred(const PlainCall& call, size_t operand, size_t zero_input,
                             size_t axis) {
  const Tensor& x = call.input(operand);
  const Tensor wide = x.cast(ElementType::Int32);
  std::vector<int32_t> values(wide.data<int32_t>().begin(), wide.data<int32_t>().end());
  const std::vector<int64_t> zeros = zero_points(call, zero_input);
  if (zeros.empty() || values.empty()) return values;
  const int64_t inner =
      extent_product(x.shape(), std::min(axis + 1, x.shape().size()), x.shape().size());
  const auto extent = static_cast<int64_t>(zeros.size());
  if (extent != 1 && (axis >= x.shape().size() || x.shape()[axis] != extent)) {
    throw UserError(describe(call.node) + ": " + std::to_string(extent) +
                    " zero points do not fit the input " + to_string(x.shape()));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = extent == 1 ? 0 : static_cast<size_t>(static_cast<int64_t>(i) / inner % extent);
    values[i] -= static_cast<int32_t>(zeros[at]);
  }
  return values;
}

int32_t multiply_add(int32_t sum, int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(sum) +
                              static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

/// numpy.matmul of integers: sums and their shape.
struct IntegerProduct {
  Shape shape;
  std::vector<int32_t> sums;
  int64_t rows = 1, columns = 1;
};

IntegerProduct matrix_product(const PlainCall& call, Shape a_shape, const std::vector<int32_t>& a,
                              Shape b_shape, const std::vector<int32_t>& b) {
  if (a_shape.empty() || b_shape.empty()) throw UserError(describe(call.node) + ": no matrices");
  const bool row = a_shape.size() == 1, column = b_shape.size() == 1;
  if (row) a_shape.insert(a_shape.begin(), 1);
  if (column) b_shape.push_back(1);
  const int64_t inner = a_shape.back();
  if (inner != b_shape[b_shape.size() - 2]) {
    throw UserError(describe(call.node) + ": shapes " + to_string(a_shape) + " and " +
                    to_string(b_shape) + " cannot be multiplied");
  }
  const Shape a_batch(a_shape.begin(), a_shape.end() - 2),
      b_batch(b_shape.begin(), b_shape.end() - 2);
  IntegerProduct product;
  product.shape = broadcast_shapes(a_batch, b_batch, call.node);
  const int64_t batches = element_count(product.shape);
  product.rows = a_shape[a_shape.size() - 2];
  product.columns = b_shape.back();
  BroadcastCursor a_at(a_batch, product.shape), b_at(b_batch, product.shape);
  product.sums.resize(static_cast<size_t>(batches * product.rows * product.columns), 0);
  int32_t* out = product.sums.data();
  for (int64_t batch = 0; batch < batches; ++batch) {
    const int32_t* left = a.data() + a_at.offset() * product.rows * inner;
    const int32_t* right = b.data() + b_at.offset() * inner * product.columns;
    for (int64_t i = 0; i < product.rows; ++i, out += product.columns) {
      for (int64_t k = 0; k < inner; ++k) {
        const int32_t factor = left[i * inner + k];
        const int32_t* from = right + k * product.columns;
        for (int64_t j = 0; j < product.columns; ++j)
          out[j] = multiply_add(out[j], factor, from[j]);
      }
    }
    a_at.advance();
    b_at.advance();
  }
  if (!row) product.shape.push_back(product.rows);
  if (!column) product.shape.push_back(product.columns);
  return product;
}

size_t axis_from_end(const Tensor& x, size_t back) {
  return x.shape().size() < back ? 0 : x.shape().size() - back;
}

std::vector<Tensor> matmul_integer(const PlainCall& call) {
  const Tensor &a = call.input(0), &b = call.input(1);
  const IntegerProduct product =
      matrix_product(call, a.shape(), centred(call, 0, 2, axis_from_end(a, 2)), b.shape(),
                     centred(call, 1, 3, axis_from_end(b, 1)));
  Tensor y = call.output(0, ElementType::Int32, product.shape);
  std::copy(product.sums.begin(), product.sums.end(), elements_as<int32_t>(y));
  return {y};
}

/// Sums to the output's quantised type: round(sum * factor) + zero point, saturated.
void requantize(const PlainCall& call, Tensor& y, size_t zero_input,
                const std::vector<int32_t>& sums, const std::function<double(int64_t)>& factor) {
  const auto [low, high] = quantized_range(y.type(), call.node);
  const std::vector<int64_t> zeros = zero_points(call, zero_input);
  const double zero = zeros.empty() ? 0 : static_cast<double>(zeros[0]);
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const double scaled = std::nearbyint(static_cast<double>(sums[i]) * factor(at));
    store_quantized(y, at, std::clamp(scaled + zero, low, high));
  }
}

// a, its scale and zero point, b likewise, then scale and zero point of y.
std::vector<Tensor> quantized_matmul(const PlainCall& call) {
  const Tensor &a = call.input(0), &b = call.input(3);
  const IntegerProduct product =
      matrix_product(call, a.shape(), centred(call, 0, 2, axis_from_end(a, 2)), b.shape(),
                     centred(call, 3, 5, axis_from_end(b, 1)));
  const std::vector<double> a_scale = to_reals(call.input(1)), b_scale = to_reals(call.input(4)),
                            y_scale = to_reals(call.input(6));
  Tensor y = call.output(0, call.input(7).type(), product.shape);
  const auto pick = [](const std::vector<double>& scales, int64_t i) {
    return scales.size() == 1 ? scales[0] : scales.at(static_cast<size_t>(i));
  };
  requantize(call, y, 7, product.sums, [&](int64_t i) {
    const int64_t row = i / product.columns % product.rows, column = i % product.columns;
    return pick(a_scale, row) * pick(b_scale, column) / pick(y_scale, row);
  });
  return {y};
}

/// A convolution of centred integers; padding adds nothing.
Tensor convolve(const PlainCall& call, size_t data, size_t weight, const std::vector<int32_t>& x,
                const std::vector<int32_t>& w) {
  const Shape& xs = call.input(data).shape();
  const Shape& ws = call.input(weight).shape();
  const int64_t groups = call.node.integer("group", 1);
  if (xs.size() < 3 || ws.size() != xs.size() || groups < 1 || ws[0] % groups != 0 ||
      xs[1] != ws[1] * groups) {
    throw UserError(describe(call.node) + ": input " + to_string(xs) + " and weight " +
                    to_string(ws) + " are no convolution of " + std::to_string(groups) + " groups");
  }
  const Window window =
      make_window(call.node, {xs.begin() + 2, xs.end()}, {ws.begin() + 2, ws.end()});
  Shape shape = {xs[0], ws[0]};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  Tensor y = Tensor::zeros(ElementType::Int32, shape);
  const int64_t plane = extent_product(xs, 2, xs.size()), taps = element_count(window.kernel);
  const int64_t results = element_count(window.output);
  int32_t* out = elements_as<int32_t>(y);
  std::vector<int64_t> offsets(static_cast<size_t>(results * taps));  // -1: in the padding
  for (int64_t r = 0; r < results; ++r) {
    for (int64_t t = 0; t < taps; ++t) {
      int64_t result = r, tap = t, offset = 0, stride = 1;
      for (size_t i = window.rank(); i-- > 0;) {
        const int64_t p = result % window.output[i] * window.strides[i] + window.origin(i) +
                          tap % window.kernel[i] * window.dilations[i];
        result /= window.output[i];
        tap /= window.kernel[i];
        if (p < 0 || p >= xs[2 + i]) offset = -1;
        if (offset >= 0) offset += p * stride;
        stride *= xs[2 + i];
      }
      offsets[static_cast<size_t>(r * taps + t)] = offset;
    }
  }
  for (int64_t n = 0; n < xs[0]; ++n) {
    for (int64_t o = 0; o < ws[0]; ++o) {
      const int64_t first = o / (ws[0] / groups) * ws[1];
      for (int64_t r = 0; r < results; ++r) {
        int32_t sum = 0;
        for (int64_t c = 0; c < ws[1]; ++c) {
          const int32_t* from = x.data() + (n * xs[1] + first + c) * plane;
          const int32_t* filter = w.data() + (o * ws[1] + c) * taps;
          for (int64_t t = 0; t < taps; ++t) {
            const int64_t offset = offsets[static_cast<size_t>(r * taps + t)];
            if (offset >= 0) sum = multiply_add(sum, from[offset], filter[t]);
          }
        }
        *out++ = sum;
      }
    }
  }
  return y;
}

std::vector<Tensor> conv_integer(const PlainCall& call) {
  const Tensor sums = convolve(call, 0, 1, centred(call, 0, 2, 1), centred(call, 1, 3, 0));
  Tensor y = call.output(0, ElementType::Int32, sums.shape());
  std::copy_n(elements_as<int32_t>(sums), sums.count(), elements_as<int32_t>(y));
  return {y};
}

// x, its scale and zero point, w likewise, scale and zero point of y, bias in units of both scales.
std::vector<Tensor> quantized_conv(const PlainCall& call) {
  const Tensor sums = convolve(call, 0, 3, centred(call, 0, 2, 1), centred(call, 3, 5, 0));
  const int64_t channels = sums.shape()[1];
  const int64_t plane = extent_product(sums.shape(), 2, sums.shape().size());
  std::vector<int32_t> biased(sums.data<int32_t>().begin(), sums.data<int32_t>().end());
  if (call.has(8)) {
    const std::vector<int64_t> bias = call.integers(8);
    for (size_t i = 0; i < biased.size(); ++i) {
      const auto channel = static_cast<size_t>(static_cast<int64_t>(i) / plane % channels);
      biased[i] = multiply_add(biased[i], static_cast<int32_t>(bias.at(channel)), 1);
    }
  }
  const std::vector<double> w_scale = to_reals(call.input(4));
  const double ratio = to_reals(call.input(1)).at(0) / to_reals(call.input(6)).at(0);
  Tensor y = call.output(0, call.input(7).type(), sums.shape());
  requantize(call, y, 7, biased, [&](int64_t i) {
    const auto channel = static_cast<size_t>(i / plane % channels);
    return ratio * (w_scale.size() == 1 ? w_scale[0] : w_scale.at(channel));
  });
  return {y};
}

}  // namespace

std::vector<KernelDefinition> integer_product_kernels() {
  return {{"MatMulInteger", nullptr, matmul_integer},
          {"QLinearMatMul", nullptr, quantized_matmul},
          {"ConvInteger", nullptr, conv_integer},
          {"QLinearConv", nullptr, quantized_conv}};
}

}  // namespace opsmith::kernels
