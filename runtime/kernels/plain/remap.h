#pragma once

#include <vector>

#include "runtime/kernels/plain/dispatch.h"

namespace opsmith::kernels {

/// y[p0, p1, ...] = x[sources[0][p0], sources[1][p1], ...]; where any source is -1 the element is
/// `fill` (the bytes of one element; zeros when null). One list per dimension of x, as long as the
/// output's extent.
inline void remap(const Tensor& x, const std::vector<std::vector<int64_t>>& sources,
                  const void* fill, Tensor& y, const graph::Node& node) {
  size_t rank = sources.size();
  dispatch_size(x.type(), node, [&](auto tag) {
    using T = decltype(tag);
    const T* in = elements_as<T>(x);
    T* out = elements_as<T>(y);
    T outside = fill != nullptr ? *static_cast<const T*>(fill) : T{0};
    if (y.count() == 0) return;
    if (rank == 0) {
      out[0] = in[0];
      return;
    }
    const std::vector<int64_t>& inner = sources[rank - 1];
    auto run = static_cast<int64_t>(inner.size());
    std::vector<size_t> position(rank, 0);
    for (int64_t row = 0; row < y.count() / run; ++row, out += run) {
      int64_t offset = 0;
      bool inside = true;
      for (size_t i = 0; i + 1 < rank; ++i) {
        int64_t source = sources[i][position[i]];
        inside = inside && source >= 0;
        offset = offset * x.shape()[i] + source;
      }
      offset *= x.shape()[rank - 1];
      for (int64_t i = 0; i < run; ++i) {
        int64_t source = inner[static_cast<size_t>(i)];
        out[i] = inside && source >= 0 ? in[offset + source] : outside;
      }
      for (size_t i = rank - 1; i-- > 0;) {
        if (++position[i] < sources[i].size()) break;
        position[i] = 0;
      }
    }
  });
}

}  // namespace opsmith::kernels
