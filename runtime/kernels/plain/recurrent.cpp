#include <algorithm>
#include <cmath>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/cell_activation.h"
#include "runtime/kernels/plain/dispatch.h"
#include "runtime/kernels/plain/reals.h"
#include "support/error.h"

// RNN, GRU and LSTM (equations of the ONNX operator specification).
namespace opsmith::kernels {
namespace {

enum class Cell { Rnn, Gru, Lstm };

/// Sizes of one layer; all tensors are seen as [steps or directions][batch][...].
struct Sizes {
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1, gates = 1;
};

template <typename T>
using Row = std::vector<T>;

/// `rows` x `columns`, row-major, as its transpose.
template <typename T>
Row<T> transposed(const T* matrix, int64_t rows, int64_t columns) {
  Row<T> result(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      result[static_cast<size_t>(j * rows + i)] = matrix[i * columns + j];
    }
  }
  return result;
}

/// out[j] += sum over k of x[k] * weight[k][j], for j in [begin, end) of `width` columns.
template <typename T>
void accumulate(const T* x, int64_t count, const Row<T>& weight, int64_t width, int64_t begin,
                int64_t end, T* out) {
  for (int64_t k = 0; k < count; ++k) {
    const T* row = weight.data() + k * width;
    const T factor = x[k];
    for (int64_t j = begin; j < end; ++j) out[j] += factor * row[j];
  }
}

/// One direction of a layer.
template <typename T>
class Direction {
 public:
  Direction(const PlainCall& call, Cell cell, const Sizes& sizes, int64_t number)
      : cell_(cell),
        sizes_(sizes),
        width_(sizes.gates * sizes.hidden),
        reset_first_(call.node.integer("linear_before_reset", 0) == 0),
        couples_(call.node.integer("input_forget", 0) != 0),
        clip_(static_cast<T>(call.node.real("clip", 0))),
        activations_(cell_activations(call.node, number)) {
    const auto part = [&](size_t input, int64_t count) -> const T* {
      return call.has(input) ? elements_as<T>(call.input(input)) + number * count : nullptr;
    };
    w_ = transposed(part(1, width_ * sizes.inputs), width_, sizes.inputs);
    r_ = transposed(part(2, width_ * sizes.hidden), width_, sizes.hidden);
    w_bias_.assign(static_cast<size_t>(width_), T{0});
    r_bias_ = w_bias_;
    if (const T* bias = part(3, 2 * width_)) {
      std::copy_n(bias, width_, w_bias_.begin());
      std::copy_n(bias + width_, width_, r_bias_.begin());
    }
    peepholes_ = cell == Cell::Lstm ? part(7, 3 * sizes.hidden) : nullptr;
  }

  /// New hidden state, and cell state of an LSTM, of one sequence after the input x.
  void step(const T* x, T* h, T* c) {
    const int64_t hidden = sizes_.hidden;
    gates_ = w_bias_;
    accumulate(x, sizes_.inputs, w_, width_, 0, width_, gates_.data());
    switch (cell_) {
      case Cell::Rnn:
        add_recurrent(h, 0, width_);
        for (int64_t i = 0; i < hidden; ++i) h[i] = activate(0, gates_[at(i)]);
        return;
      case Cell::Gru:
        return step_gru(h);
      case Cell::Lstm:
        return step_lstm(h, c);
    }
  }

 private:
  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  T activate(size_t which, T x) const {
    if (clip_ > 0) x = std::clamp(x, -clip_, clip_);
    return static_cast<T>(activations_.at(which)(static_cast<double>(x)));
  }

  void add_recurrent(const T* h, int64_t begin, int64_t end) {
    accumulate(h, sizes_.hidden, r_, width_, begin, end, gates_.data());
    for (int64_t j = begin; j < end; ++j) gates_[at(j)] += r_bias_[at(j)];
  }

  // Gates: update z, reset r, hidden.
  void step_gru(T* h) {
    const int64_t hidden = sizes_.hidden;
    add_recurrent(h, 0, 2 * hidden);
    for (int64_t j = 0; j < 2 * hidden; ++j) gates_[at(j)] = activate(0, gates_[at(j)]);
    T* candidate = gates_.data() + 2 * hidden;
    scratch_.assign(h, h + hidden);
    if (reset_first_) {
      for (int64_t i = 0; i < hidden; ++i) scratch_[at(i)] *= gates_[at(hidden + i)];
      add_recurrent(scratch_.data(), 2 * hidden, width_);
    } else {
      Row<T> linear(gates_.size(), T{0});
      accumulate(scratch_.data(), hidden, r_, width_, 2 * hidden, width_, linear.data());
      for (int64_t i = 0; i < hidden; ++i) {
        const auto j = at(2 * hidden + i);
        candidate[i] += gates_[at(hidden + i)] * (linear[j] + r_bias_[j]);
      }
    }
    for (int64_t i = 0; i < hidden; ++i) {
      const T z = gates_[at(i)];
      h[i] = (1 - z) * activate(1, candidate[i]) + z * h[i];
    }
  }

  // Gates: input i, output o, forget f, cell c; peepholes of i, o, f.
  void step_lstm(T* h, T* c) {
    const int64_t hidden = sizes_.hidden;
    add_recurrent(h, 0, width_);
    const auto peep = [&](int64_t gate, int64_t i, T state) {
      return peepholes_ == nullptr ? T{0} : peepholes_[gate * hidden + i] * state;
    };
    for (int64_t i = 0; i < hidden; ++i) {
      const T input = activate(0, gates_[at(i)] + peep(0, i, c[i]));
      const T forget =
          couples_ ? 1 - input : activate(0, gates_[at(2 * hidden + i)] + peep(2, i, c[i]));
      c[i] = forget * c[i] + input * activate(1, gates_[at(3 * hidden + i)]);
      const T output = activate(0, gates_[at(hidden + i)] + peep(1, i, c[i]));
      h[i] = output * static_cast<T>(activations_.at(2)(static_cast<double>(c[i])));
    }
  }

  Cell cell_;
  const Sizes& sizes_;
  int64_t width_;
  bool reset_first_, couples_;
  T clip_;
  std::vector<CellActivation> activations_;
  Row<T> w_, r_, w_bias_, r_bias_, gates_, scratch_;
  const T* peepholes_ = nullptr;
};

Sizes read_sizes(const PlainCall& call, Cell cell, bool batch_first) {
  const Shape &x = call.input(0).shape(), &w = call.input(1).shape(), &r = call.input(2).shape();
  Sizes sizes;
  sizes.gates = cell == Cell::Rnn ? 1 : cell == Cell::Gru ? 3 : 4;
  const std::string direction = call.node.text("direction", "forward");
  sizes.directions = direction == "bidirectional" ? 2 : 1;
  if (x.size() != 3 || w.size() != 3 || r.size() != 3) {
    throw UserError(describe(call.node) + ": X, W and R need three dimensions");
  }
  sizes.steps = x[batch_first ? 1 : 0];
  sizes.batch = x[batch_first ? 0 : 1];
  sizes.inputs = x[2];
  sizes.hidden = r[2];
  const int64_t width = sizes.gates * sizes.hidden;
  const auto expect = [&](size_t input, const Shape& shape) {
    if (!call.has(input) || call.input(input).shape() == shape) return;
    throw UserError(describe(call.node) + ": input " + std::to_string(input) + " has the shape " +
                    to_string(call.input(input).shape()) + " instead of " + to_string(shape));
  };
  expect(1, {sizes.directions, width, sizes.inputs});
  expect(2, {sizes.directions, width, sizes.hidden});
  expect(3, {sizes.directions, 2 * width});
  expect(4, {sizes.batch});
  const Shape state = batch_first ? Shape{sizes.batch, sizes.directions, sizes.hidden}
                                  : Shape{sizes.directions, sizes.batch, sizes.hidden};
  expect(5, state);
  if (cell == Cell::Lstm) {
    expect(6, state);
    expect(7, {sizes.directions, 3 * sizes.hidden});
  }
  return sizes;
}

template <typename T>
std::vector<Tensor> run_layer(const PlainCall& call, Cell cell) {
  const bool batch_first = call.node.integer("layout", 0) != 0;
  const Sizes s = read_sizes(call, cell, batch_first);
  const ElementType type = call.input(0).type();
  const Shape state =
      batch_first ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
  Tensor y = call.output(0, type,
                         batch_first ? Shape{s.batch, s.steps, s.directions, s.hidden}
                                     : Shape{s.steps, s.directions, s.batch, s.hidden});
  Tensor last_h = call.output(1, type, state);
  Tensor last_c = cell == Cell::Lstm ? call.output(2, type, state) : Tensor();
  std::vector<int64_t> lengths(static_cast<size_t>(s.batch), s.steps);
  if (call.has(4)) lengths = call.integers(4);
  std::fill_n(elements_as<T>(y), y.count(), T{0});
  const bool reverse_only = call.node.text("direction", "forward") == "reverse";
  for (int64_t d = 0; d < s.directions; ++d) {
    Direction<T> direction(call, cell, s, d);
    for (int64_t b = 0; b < s.batch; ++b) {
      const int64_t at = (batch_first ? b * s.directions + d : d * s.batch + b) * s.hidden;
      Row<T> h(static_cast<size_t>(s.hidden), T{0}), c = h;
      if (call.has(5)) std::copy_n(elements_as<T>(call.input(5)) + at, s.hidden, h.begin());
      if (cell == Cell::Lstm && call.has(6)) {
        std::copy_n(elements_as<T>(call.input(6)) + at, s.hidden, c.begin());
      }
      const int64_t length = std::clamp<int64_t>(lengths[static_cast<size_t>(b)], 0, s.steps);
      for (int64_t i = 0; i < length; ++i) {
        const int64_t t = reverse_only || d == 1 ? length - 1 - i : i;
        const int64_t row = batch_first ? b * s.steps + t : t * s.batch + b;
        direction.step(elements_as<T>(call.input(0)) + row * s.inputs, h.data(), c.data());
        const int64_t out = batch_first ? (b * s.steps + t) * s.directions + d
                                        : (t * s.directions + d) * s.batch + b;
        std::copy(h.begin(), h.end(), elements_as<T>(y) + out * s.hidden);
      }
      std::copy(h.begin(), h.end(), elements_as<T>(last_h) + at);
      if (last_c.defined()) std::copy(c.begin(), c.end(), elements_as<T>(last_c) + at);
    }
  }
  std::vector<Tensor> outputs = {y, last_h};
  if (last_c.defined()) outputs.push_back(last_c);
  return outputs;
}

std::vector<Tensor> recurrent(const PlainCall& call, Cell cell) {
  switch (call.input(0).type()) {
    case ElementType::Float32:
      return run_layer<float>(call, cell);
    case ElementType::Float64:
      return run_layer<double>(call, cell);
    default:
      throw Unsupported(describe(call.node) + ": element type " + to_string(call.input(0).type()));
  }
}

}  // namespace

std::vector<KernelDefinition> recurrent_kernels() {
  const auto kernel = [](Cell cell) {
    return [cell](const PlainCall& call) { return recurrent(call, cell); };
  };
  return {{"RNN", nullptr, kernel(Cell::Rnn), Handling::Widened},
          {"GRU", nullptr, kernel(Cell::Gru), Handling::Widened},
          {"LSTM", nullptr, kernel(Cell::Lstm), Handling::Widened}};
}

}  // namespace opsmith::kernels
