#pragma once

#include <cstdint>
#include <vector>

#include "support/tensor.h"

namespace opsmith::kernels {

/// Element offsets of a tensor broadcast numpy-style into a larger shape, visited in row-major
/// order of that shape.
class BroadcastCursor {
 public:
  BroadcastCursor(const Shape& from, const Shape& into)
      : extents_(into), strides_(into.size(), 0), position_(into.size(), 0) {
    int64_t stride = 1;
    for (size_t i = 0; i < from.size(); ++i) {
      int64_t extent = from[from.size() - 1 - i];
      if (extent != 1) strides_[into.size() - 1 - i] = stride;
      stride *= extent;
    }
  }

  int64_t offset() const { return offset_; }

  void advance() {
    for (size_t i = extents_.size(); i-- > 0;) {
      offset_ += strides_[i];
      if (++position_[i] < extents_[i]) return;
      offset_ -= strides_[i] * extents_[i];
      position_[i] = 0;
    }
  }

 private:
  Shape extents_;
  std::vector<int64_t> strides_;
  std::vector<int64_t> position_;
  int64_t offset_ = 0;
};

}  // namespace opsmith::kernels
