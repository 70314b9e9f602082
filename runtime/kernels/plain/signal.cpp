#include <cmath>
#include <complex>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/onnx_types.h"
#include "runtime/kernels/plain/reals.h"
#include "support/error.h"

// Windows, Fourier transforms and the mel scale.
namespace opsmith::kernels {
namespace {

using Complex = std::complex<double>;

ElementType output_type(const PlainCall& call) {
  return onnx_element_type(call.node.integer("output_datatype", 1), call.node);
}

/// w[n] = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), N the size, or one less when symmetric.
std::vector<Tensor> cosine_window(const PlainCall& call, double a0, double a1, double a2) {
  const int64_t size = call.integers(0).at(0);
  const double period =
      static_cast<double>(call.node.integer("periodic", 1) != 0 ? size : size - 1);
  std::vector<double> window(static_cast<size_t>(element_count({size})));
  for (size_t n = 0; n < window.size(); ++n) {
    const double angle = period == 0 ? 0 : 2 * M_PI * static_cast<double>(n) / period;
    window[n] = a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  }
  return {from_reals(call, 0, output_type(call), {size}, window)};
}

/// The discrete Fourier transform of count elements that lie `stride` apart; `sign` -1 forward, 1
/// back (without the factor 1 / count). By the smallest prime factor, so that only large primes
/// cost the square of their size.
std::vector<Complex> transform(const Complex* x, size_t count, size_t stride, double sign) {
  const auto root = [&](size_t k) {
    return std::polar(
        1.0, sign * 2 * M_PI * static_cast<double>(k % count) / static_cast<double>(count));
  };
  std::vector<Complex> y(count);
  if (count == 1) {
    y[0] = x[0];
    return y;
  }
  size_t factor = 2;
  while (factor * factor <= count && count % factor != 0) ++factor;
  if (count % factor != 0) factor = count;
  const size_t part = count / factor;
  std::vector<std::vector<Complex>> parts;
  for (size_t i = 0; i < factor; ++i) {
    parts.push_back(transform(x + i * stride, part, stride * factor, sign));
  }
  for (size_t k = 0; k < count; ++k) {
    for (size_t i = 0; i < factor; ++i) y[k] += root(i * k) * parts[i][k % part];
  }
  return y;
}

/// Real and imaginary parts of a spectrum in `parts` numbers each (1: the real part).
void write_complex(const Complex& value, int64_t parts, double* out) {
  out[0] = value.real();
  if (parts == 2) out[1] = value.imag();
}

// [..., axis, ..., 1 or 2] to the same with the axis transformed. The axis is an attribute before
// operator set 20, an input since.
std::vector<Tensor> fourier(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const int64_t rank = x.rank();
  const bool inverse = call.node.integer("inverse", 0) != 0;
  const bool onesided = call.node.integer("onesided", 0) != 0;
  const int64_t given_axis = call.opset() < 20 ? call.node.integer("axis", 1)
                             : call.has(2)     ? call.integers(2).at(0)
                                               : -2;
  const int64_t axis = normalize_axis(given_axis, rank, call.node);
  if (rank < 2 || axis == rank - 1 || x.shape().back() < 1 || x.shape().back() > 2) {
    throw UserError(describe(call.node) + ": the last dimension holds real and imaginary parts");
  }
  const int64_t extent = x.shape()[static_cast<size_t>(axis)];
  const bool folded = inverse && onesided;  // the spectrum of a real signal, its half
  const int64_t length = call.has(1) ? call.integers(1).at(0) : folded ? 2 * (extent - 1) : extent;
  if (length < 1) throw UserError(describe(call.node) + ": a transform of no elements");
  const int64_t kept = onesided && !inverse ? length / 2 + 1 : length;
  const int64_t parts = folded ? 1 : 2, in_parts = x.shape().back();
  Shape shape = x.shape();
  shape[static_cast<size_t>(axis)] = kept;
  shape.back() = parts;
  const int64_t outer = extent_product(shape, 0, static_cast<size_t>(axis));
  const int64_t inner = extent_product(shape, static_cast<size_t>(axis) + 1, shape.size() - 1);
  const std::vector<double> in = to_reals(x);
  std::vector<double> out(static_cast<size_t>(element_count(shape)));
  std::vector<Complex> signal(static_cast<size_t>(length));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t n = 0; n < length; ++n) {
        // The other half mirrors the given one.
        const bool mirrored = folded && n > length / 2;
        const int64_t from = mirrored ? length - n : n;
        Complex value = 0;
        if (from < extent) {
          const double* at = in.data() + ((o * extent + from) * inner + i) * in_parts;
          value = {at[0], in_parts == 2 ? at[1] : 0.0};
        }
        signal[static_cast<size_t>(n)] = mirrored ? std::conj(value) : value;
      }
      const auto spectrum =
          transform(signal.data(), static_cast<size_t>(length), 1, inverse ? 1.0 : -1.0);
      const double scale = inverse ? 1.0 / static_cast<double>(length) : 1.0;
      for (int64_t k = 0; k < kept; ++k) {
        write_complex(spectrum[static_cast<size_t>(k)] * scale, parts,
                      out.data() + ((o * kept + k) * inner + i) * parts);
      }
    }
  }
  return {from_reals(call, 0, x.type(), shape, out)};
}

// Transforms of windowed frames of the signal [batch, length, 1 or 2].
std::vector<Tensor> short_time_fourier(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const int64_t step = call.integers(1).at(0);
  const std::vector<double> window = call.has(2) ? to_reals(call.input(2)) : std::vector<double>{};
  const int64_t length = call.has(3) ? call.integers(3).at(0) : static_cast<int64_t>(window.size());
  if (x.rank() < 2 || x.rank() > 3 || step < 1 || length < 1 || x.shape()[1] < length ||
      (!window.empty() && static_cast<int64_t>(window.size()) != length)) {
    throw UserError(describe(call.node) + ": the signal " + to_string(x.shape()) +
                    " cannot be cut into frames of " + std::to_string(length));
  }
  const int64_t batch = x.shape()[0], samples = x.shape()[1];
  const int64_t in_parts = x.rank() == 3 ? x.shape()[2] : 1;
  const int64_t frames = (samples - length) / step + 1;
  const int64_t bins = call.node.integer("onesided", 1) != 0 ? length / 2 + 1 : length;
  const std::vector<double> in = to_reals(x);
  const Shape shape = {batch, frames, bins, 2};
  std::vector<double> out(static_cast<size_t>(element_count(shape)));
  std::vector<Complex> frame(static_cast<size_t>(length));
  for (int64_t row = 0; row < batch * frames; ++row) {
    const int64_t begin = row / frames * samples + row % frames * step;
    for (int64_t n = 0; n < length; ++n) {
      const double* at = in.data() + (begin + n) * in_parts;
      frame[static_cast<size_t>(n)] = Complex(at[0], in_parts == 2 ? at[1] : 0.0) *
                                      (window.empty() ? 1.0 : window[static_cast<size_t>(n)]);
    }
    const auto spectrum = transform(frame.data(), frame.size(), 1, -1);
    for (int64_t k = 0; k < bins; ++k) {
      write_complex(spectrum[static_cast<size_t>(k)], 2, out.data() + (row * bins + k) * 2);
    }
  }
  return {from_reals(call, 0, x.type(), shape, out)};
}

// Triangles over the bins of a spectrum, evenly spaced on the mel scale.
std::vector<Tensor> mel_weights(const PlainCall& call) {
  const int64_t bands = call.integers(0).at(0), length = call.integers(1).at(0);
  const auto rate = static_cast<double>(call.integers(2).at(0));
  const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = to_mel(to_reals(call.input(3)).at(0));
  const double high = to_mel(to_reals(call.input(4)).at(0));
  if (bands < 0 || length < 1) throw UserError(describe(call.node) + ": negative sizes");
  const int64_t bins = length / 2 + 1;
  const auto edge = [&](int64_t i) {
    const double mel = low + static_cast<double>(i) * (high - low) / static_cast<double>(bands + 2);
    const double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    return static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate));
  };
  std::vector<double> out(static_cast<size_t>(element_count({bins, bands})), 0);
  const auto put = [&](int64_t bin, int64_t band, double weight) {
    if (bin >= 0 && bin < bins) out[static_cast<size_t>(bin * bands + band)] = weight;
  };
  for (int64_t band = 0; band < bands; ++band) {
    const int64_t lower = edge(band), centre = edge(band + 1), upper = edge(band + 2);
    if (centre == lower) put(centre, band, 1);
    for (int64_t bin = lower; bin <= centre && centre > lower; ++bin) {
      put(bin, band, static_cast<double>(bin - lower) / static_cast<double>(centre - lower));
    }
    for (int64_t bin = centre; bin < upper; ++bin) {
      put(bin, band, static_cast<double>(upper - bin) / static_cast<double>(upper - centre));
    }
  }
  return {from_reals(call, 0, output_type(call), {bins, bands}, out)};
}

}  // namespace

std::vector<KernelDefinition> signal_kernels() {
  const auto window = [](double a0, double a1, double a2) {
    return [=](const PlainCall& call) { return cosine_window(call, a0, a1, a2); };
  };
  return {{"HannWindow", nullptr, window(0.5, 0.5, 0)},
          {"HammingWindow", nullptr, window(25.0 / 46, 21.0 / 46, 0)},
          {"BlackmanWindow", nullptr, window(0.42, 0.5, 0.08)},
          {"DFT", nullptr, fourier},
          {"STFT", nullptr, short_time_fourier},
          {"MelWeightMatrix", nullptr, mel_weights}};
}

}  // namespace opsmith::kernels
