#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/along_axis.h"
#include "runtime/kernels/plain/dispatch.h"
#include "support/error.h"

// Unique: the different slices along an axis, or elements of the flattened tensor.
namespace opsmith::kernels {
namespace {

/// Less, equal or greater; NaN is greater than all numbers and equal to itself.
template <typename T>
int compare(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b))
      return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
  }
  return a < b ? -1 : b < a ? 1 : 0;
}

template <typename T>
std::vector<Tensor> unique(const PlainCall& call, const Tensor& x, const AlongAxis& along) {
  const T* in = elements_as<T>(x);
  const auto compare_slices = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < along.outer; ++o) {
      for (int64_t i = 0; i < along.inner; ++i) {
        const T* base = in + o * along.extent * along.inner + i;
        if (const int c = compare(base[a * along.inner], base[b * along.inner]); c != 0) return c;
      }
    }
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(along.extent));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return compare_slices(a, b) < 0; });
  std::vector<int64_t> first;  // where each different slice occurs first
  std::vector<int64_t> counts;
  std::vector<int64_t> group(order.size());
  for (const int64_t slice : order) {
    if (first.empty() || compare_slices(first.back(), slice) != 0) {
      first.push_back(slice);
      counts.push_back(0);
    }
    ++counts.back();
    group[static_cast<size_t>(slice)] = static_cast<int64_t>(first.size()) - 1;
  }
  if (call.node.integer("sorted", 1) == 0) {  // in the order of first occurrence
    std::vector<size_t> rank(first.size());
    std::iota(rank.begin(), rank.end(), 0);
    std::sort(rank.begin(), rank.end(), [&](size_t a, size_t b) { return first[a] < first[b]; });
    std::vector<int64_t> place(first.size()), sorted_first, sorted_counts;
    for (size_t i = 0; i < rank.size(); ++i) {
      place[rank[i]] = static_cast<int64_t>(i);
      sorted_first.push_back(first[rank[i]]);
      sorted_counts.push_back(counts[rank[i]]);
    }
    for (int64_t& g : group) g = place[static_cast<size_t>(g)];
    first = std::move(sorted_first);
    counts = std::move(sorted_counts);
  }
  Shape shape = x.shape();
  shape[along.axis] = static_cast<int64_t>(first.size());
  Tensor y(x.type(), shape);
  T* out = elements_as<T>(y);
  for (int64_t o = 0; o < along.outer; ++o) {
    for (const int64_t slice : first) {
      out = std::copy_n(in + (o * along.extent + slice) * along.inner, along.inner, out);
    }
  }
  const auto list = [](const std::vector<int64_t>& values) {
    return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
  };
  return {y, list(first), list(group), list(counts)};
}

std::vector<Tensor> unique_slices(const PlainCall& call) {
  const bool flat = !call.node.has("axis");
  const Tensor x = flat ? call.input(0).reshaped({call.input(0).count()}) : call.input(0);
  const AlongAxis along(flat ? 0 : call.node.integer("axis", 0), x.shape(), call.node);
  if (x.type() == ElementType::String) return unique<std::string>(call, x, along);
  std::vector<Tensor> outputs;
  dispatch_numeric(x.type(), call.node,
                   [&](auto tag) { outputs = unique<decltype(tag)>(call, x, along); });
  return outputs;
}

}  // namespace

std::vector<KernelDefinition> unique_kernels() {
  return {{"Unique", nullptr, unique_slices, Handling::Widened}};
}

}  // namespace opsmith::kernels
