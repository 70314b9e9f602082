#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/along_axis.h"
#include "runtime/kernels/plain/dispatch.h"

// Operators that look along one axis: order, sums, positions.
namespace opsmith::kernels {
namespace {

std::vector<Tensor> arg_extreme(const PlainCall& call, bool largest) {
  const Tensor& x = call.input(0);
  AlongAxis along(call.node.integer("axis", 0), x.shape(), call.node);
  bool last = call.node.integer("select_last_index", 0) != 0;
  Shape shape = x.shape();
  if (call.node.integer("keepdims", 1) != 0) {
    shape[along.axis] = 1;
  } else {
    shape.erase(shape.begin() + static_cast<int64_t>(along.axis));
  }
  Tensor y = call.output(0, ElementType::Int64, shape);
  auto* out = elements_as<int64_t>(y);
  dispatch_numeric(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t o = 0; o < along.outer; ++o) {
      for (int64_t i = 0; i < along.inner; ++i) {
        const T* in = elements_as<T>(x) + o * along.extent * along.inner + i;
        int64_t best = 0;
        for (int64_t p = 1; p < along.extent; ++p) {
          T value = in[p * along.inner], current = in[best * along.inner];
          if ((largest ? value > current : value < current) || (last && value == current)) best = p;
        }
        *out++ = best;
      }
    }
  });
  return {y};
}

std::vector<Tensor> top_k(const PlainCall& call) {
  const Tensor& x = call.input(0);
  AlongAxis along(call.node.integer("axis", -1), x.shape(), call.node);
  int64_t k = call.has(1) ? call.integers(1).at(0) : call.node.integer("k", 0);
  bool largest = call.node.integer("largest", 1) != 0;
  if (k < 0 || k > along.extent) {
    throw UserError(describe(call.node) + ": k = " + std::to_string(k) + " of " +
                    std::to_string(along.extent));
  }
  Shape shape = x.shape();
  shape[along.axis] = k;
  Tensor values = call.output(0, x.type(), shape);
  Tensor indices = call.output(1, ElementType::Int64, shape);
  auto* where = elements_as<int64_t>(indices);
  std::vector<int64_t> order(static_cast<size_t>(along.extent));
  dispatch_numeric(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    T* out = elements_as<T>(values);
    for (int64_t o = 0; o < along.outer; ++o) {
      for (int64_t i = 0; i < along.inner; ++i) {
        const T* in = elements_as<T>(x) + o * along.extent * along.inner + i;
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
          T left = in[a * along.inner], right = in[b * along.inner];
          if (left != right) return largest ? left > right : left < right;
          return a < b;
        });
        for (int64_t p = 0; p < k; ++p) {
          int64_t at = (o * k + p) * along.inner + i;
          out[at] = in[order[static_cast<size_t>(p)] * along.inner];
          where[at] = order[static_cast<size_t>(p)];
        }
      }
    }
  });
  return {values, indices};
}

std::vector<Tensor> cumulative_sum(const PlainCall& call) {
  const Tensor& x = call.input(0);
  AlongAxis along(call.integers(1).at(0), x.shape(), call.node);
  bool exclusive = call.node.integer("exclusive", 0) != 0;
  bool reverse = call.node.integer("reverse", 0) != 0;
  Tensor y = call.output(0, x.type(), x.shape());
  dispatch_numeric(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t o = 0; o < along.outer; ++o) {
      for (int64_t i = 0; i < along.inner; ++i) {
        int64_t base = o * along.extent * along.inner + i;
        T sum = 0;
        for (int64_t step = 0; step < along.extent; ++step) {
          int64_t p = base + (reverse ? along.extent - 1 - step : step) * along.inner;
          T value = elements_as<T>(x)[p];
          T next = static_cast<T>(sum + value);
          elements_as<T>(y)[p] = exclusive ? sum : next;
          sum = next;
        }
      }
    }
  });
  return {y};
}

// [rank, count] positions of the elements that are not zero.
std::vector<Tensor> non_zero(const PlainCall& call) {
  const Tensor& x = call.input(0);
  std::vector<int64_t> found;
  dispatch_numeric(x.type(), call.node, [&](auto tag) {
    auto* in = elements_as<decltype(tag)>(x);
    for (int64_t i = 0; i < x.count(); ++i) {
      if (in[i] != 0) found.push_back(i);
    }
  });
  auto count = static_cast<int64_t>(found.size());
  Tensor y = call.output(0, ElementType::Int64, {x.rank(), count});
  auto* out = elements_as<int64_t>(y);
  std::vector<int64_t> strides = row_major_strides(x.shape());
  for (size_t i = 0; i < strides.size(); ++i) {
    for (int64_t flat : found) *out++ = flat / strides[i] % x.shape()[i];
  }
  return {y};
}

std::vector<Tensor> one_hot(const PlainCall& call) {
  Tensor positions = call.input(0).cast(ElementType::Int64);
  int64_t depth = call.input(1).cast(ElementType::Int64).data<int64_t>()[0];
  const Tensor& values = call.input(2);
  Shape shape = positions.shape();
  int64_t axis = normalize_axis(call.node.integer("axis", -1), positions.rank() + 1, call.node);
  shape.insert(shape.begin() + axis, depth);
  int64_t inner = extent_product(shape, static_cast<size_t>(axis) + 1, shape.size());
  Tensor y = call.output(0, values.type(), shape);
  dispatch_size(values.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    T* out = elements_as<T>(y);
    std::fill_n(out, y.count(), elements_as<T>(values)[0]);
    auto in = positions.data<int64_t>();
    for (size_t flat = 0; flat < in.size(); ++flat) {
      int64_t hot = in[flat] < 0 ? in[flat] + depth : in[flat];
      if (hot < 0 || hot >= depth) continue;
      auto i = static_cast<int64_t>(flat);
      out[(i / inner * depth + hot) * inner + i % inner] = elements_as<T>(values)[1];
    }
  });
  return {y};
}

}  // namespace

std::vector<KernelDefinition> ranking_kernels() {
  return {{"ArgMax", nullptr, [](const PlainCall& call) { return arg_extreme(call, true); },
           Handling::Widened},
          {"ArgMin", nullptr, [](const PlainCall& call) { return arg_extreme(call, false); },
           Handling::Widened},
          {"TopK", nullptr, top_k, Handling::Widened},
          {"CumSum", nullptr, cumulative_sum, Handling::Widened},
          {"NonZero", nullptr, non_zero, Handling::Widened},
          {"OneHot", nullptr, one_hot, Handling::Moved}};
}

}  // namespace opsmith::kernels
